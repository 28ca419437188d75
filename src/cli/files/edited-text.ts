import { formatOf, transcriptText } from "../../formats/read-transcript.ts";
import type {
  OpenCodeWire,
  SessionMessage,
  SessionPart,
} from "../../formats/wires/opencode/decode-messages.ts";
import { messagesOf, withMessages } from "../../formats/wires/opencode/opencode.ts";
import { asNumber, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import type { Edit } from "../../transcript/edit.ts";
import type { InputFile } from "./read-input.ts";

/** The text of a file after edits, in the file's own format. */
export function editedText(
  { format, form, wire }: InputFile,
  edits: readonly Edit[],
  { at, order }: EditedTextOptions,
): string {
  const edited = formatOf(format).apply(wire, edits, { at });
  if (format !== "opencode") return transcriptText({ form, wire: edited });
  const session = importableSession(edited as OpenCodeWire);
  return transcriptText({ form, wire: order === "of-the-list" ? orderByTime(session) : session });
}

interface EditedTextOptions {
  /** Timestamp of inserted messages. */
  readonly at: number;
  /**
   * OpenCode sorts messages by time. `of-the-list` changes their times so that the present order is kept; `of-time` does
   * not, which is right for a compaction, since its marker names the tail that it keeps.
   */
  readonly order: "of-the-list" | "of-time";
}

/**
 * Completes an OpenCode session so that `opencode import` accepts it: inserted messages take the agent, the model and
 * other required fields from the nearest message of their role. Gives the same reference if nothing was missing.
 */
export function importableSession(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const infos = messages.map((message) => asObject(asObject(message).info));
  let isChanged = false;
  const complete = messages.map((message, index) => {
    const missing = missingFields(infos[index] ?? {});
    const model = missing.length === 0 ? undefined : nearestComplete(infos, index);
    if (model === undefined) return message;
    isChanged = true;
    const copied = missing.map((name) => [name, INSERTED_USAGE[name] ?? model[name]] as const);
    return {
      info: { ...message.info, ...Object.fromEntries(copied) },
      parts: message.parts.map(withPartId),
    };
  });
  return isChanged ? withMessages(wire, complete) : wire;
}

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  user: ["agent", "model"],
  assistant: ["parentID", "modelID", "providerID", "mode", "agent", "path", "cost", "tokens"],
};

/** An inserted message has cost nothing. */
const INSERTED_USAGE: UnknownObject = {
  cost: 0,
  tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
};

function missingFields(info: UnknownObject): readonly string[] {
  return (REQUIRED[`${info.role}`] ?? []).filter((name) => info[name] === undefined);
}

/** The nearest `info` of the same role that has all required fields. */
function nearestComplete(infos: readonly UnknownObject[], index: number): UnknownObject | undefined {
  for (let distance = 1; distance < infos.length; distance++) {
    for (const info of [infos[index + distance], infos[index - distance]])
      if (info !== undefined && info.role === infos[index]?.role && missingFields(info).length === 0)
        return info;
  }
  return undefined;
}

/** OpenCode recognizes a part by the prefix of its id. */
function withPartId(part: SessionPart): SessionPart {
  const { id } = part;
  return typeof id === "string" && !id.startsWith("prt") ? { ...part, id: `prt_${id}` } : part;
}

/**
 * Changes the times of an OpenCode session's messages so that OpenCode, which sorts by time, keeps them in the order of
 * the list: a message that is later than its successor gets a time just before it. Gives the same reference if all are
 * in order.
 */
export function orderByTime(wire: OpenCodeWire): OpenCodeWire {
  const messages = messagesOf(wire);
  const ordered: SessionMessage[] = [];
  let next = Number.POSITIVE_INFINITY;
  let isChanged = false;
  for (const message of messages.toReversed()) {
    const created = asNumber(asObject(asObject(asObject(message).info).time).created);
    const isLate = created !== undefined && created > next;
    ordered.push(isLate ? withCreatedTime(message, next - 1) : message);
    isChanged ||= isLate;
    next = Math.min(next, created ?? next) - (isLate ? 1 : 0);
  }
  return isChanged ? withMessages(wire, ordered.reverse()) : wire;
}

function withCreatedTime(message: SessionMessage, created: number): SessionMessage {
  return { ...message, info: { ...message.info, time: { ...asObject(message.info.time), created } } };
}
