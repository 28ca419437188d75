import { asObject, asString, omitUndefined, type UnknownObject } from "../text/unknown-value.ts";

/** What a session says of itself, in whatever format it is. */
export interface SessionFacts {
  readonly sessionId?: string;
  readonly title?: string;
  /** The folder in which the agent worked first. */
  readonly workingDirectory?: string;
}

/** The facts in the lines of a session, or in the one value that it is. */
export function sessionFactsOf(wire: unknown): SessionFacts {
  const reader = createFactsReader();
  for (const value of Array.isArray(wire) ? wire : [wire]) reader.take(value);
  return reader.facts();
}

/** Reads the facts while the lines come in. */
interface FactsReader {
  take(value: unknown): void;
  facts(): SessionFacts;
}

export function createFactsReader(): FactsReader {
  let sessionId: string | undefined;
  let workingDirectory: string | undefined;
  const titles: { readonly title: string; readonly leafUuid: string | undefined }[] = [];
  const uuids = new Set<unknown>();
  return {
    take(value) {
      const line = asObject(value);
      sessionId ??= idOf(line);
      workingDirectory ??= folderOf(line);
      if (line.uuid !== undefined) uuids.add(line.uuid);
      const title = titleOf(line);
      if (title !== undefined) titles.push({ title, leafUuid: asString(line.leafUuid) });
    },
    facts() {
      // Claude Code writes titles of other sessions into a file too; each names the last line of its own.
      const own = titles.findLast(({ leafUuid }) => leafUuid === undefined || uuids.has(leafUuid));
      return omitUndefined({ sessionId, title: own?.title, workingDirectory });
    },
  };
}

function idOf(line: UnknownObject): string | undefined {
  const { payload, type } = line;
  if (type === "session" || type === "session_meta")
    return asString(line.id) ?? asString(asObject(payload).id);
  const info = asObject(line.info);
  // OpenCode's messages have an `info` as well; only the session's is without a role.
  const isSession = type === undefined && info.role === undefined;
  return asString(line.sessionId) ?? (isSession ? asString(info.id) : undefined);
}

function titleOf(line: UnknownObject): string | undefined {
  const { info, type, summary, customTitle } = line;
  if (type === "summary") return asString(summary);
  if (type === "custom-title") return asString(customTitle);
  return type === undefined ? asString(asObject(info).title) : undefined;
}

function folderOf({ cwd, payload, info }: UnknownObject): string | undefined {
  const { directory, location } = asObject(info);
  const places = [directory, asObject(location).directory, cwd, asObject(payload).cwd];
  return places.map(asString).find(Boolean);
}
