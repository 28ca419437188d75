import { compact, type Fields, fields, stringField } from "../../formats/fields.ts";
import { shownText } from "./shown-text.ts";

/** What a session is called, as far as its file says so. */
export interface SessionName {
  readonly sessionId?: string;
  readonly title?: string;
}

/** The id and the title that a wire of any format gives its session. */
export function sessionNameOf(wire: unknown): SessionName {
  const values = Array.isArray(wire) ? wire : [wire];
  let sessionId: string | undefined;
  let title: string | undefined;
  for (const value of values) {
    const line = fields(value);
    sessionId ??= idOf(line);
    title = titleOf(line) ?? title;
  }
  return compact({ sessionId, title });
}

/** How a session is shown: its title, its id, or what its file is called. */
export function sessionLabel({ title, sessionId }: SessionName, otherwise: string): string {
  const names = [title, sessionId]
    .filter((name) => name !== undefined)
    .map((name) => shownText(name, MAX_CHARS));
  return names.join(" · ") || otherwise;
}

const MAX_CHARS = 120;

function idOf(line: Fields): string | undefined {
  const { info, payload, type } = line;
  if (type === "session" || type === "session_meta")
    return stringField(line.id) ?? stringField(fields(payload).id);
  return stringField(line.sessionId) ?? (type === undefined ? ownId(fields(info)) : undefined);
}

/** Messages of OpenCode have an `info` too, but theirs is not the session's. */
function ownId(info: Fields): string | undefined {
  return info.role === undefined ? stringField(info.id) : undefined;
}

function titleOf(line: Fields): string | undefined {
  const { info, type, summary, customTitle } = line;
  if (type === "summary") return stringField(summary);
  if (type === "custom-title") return stringField(customTitle);
  return type === undefined ? stringField(fields(info).title) : undefined;
}
