import { asObject, asString, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import { withText } from "../../../transcript/message.ts";
import {
  CLEARED_PLACEHOLDER,
  type FilePart,
  type Part,
  type TextPart,
  type ToolPart,
} from "../../../transcript/part.ts";
import { isSameFile } from "../../content/foreign-parts.ts";

/** Where an encoded part belongs, and when it was written. */
export interface EncodeContext {
  readonly sessionID: unknown;
  readonly messageID: string;
  readonly partIndex: number;
  readonly at: number;
}

/** The wire part of an edited one: the old wire part with only what the edit changed, or a new one. */
export function encodePart(
  part: Part,
  before: Part | undefined,
  wire: UnknownObject,
  context: EncodeContext,
): UnknownObject {
  if (before?.type === part.type) {
    if (part.type === "tool") return encodeTool(part, before as ToolPart, wire, context);
    if (part.type === "text") return encodeText(part, wire);
    if (part.type === "reasoning") return { ...wire, text: part.text };
  }
  return { ...newIds(context), ...encodeNew(part, context) };
}

/** The wire part that holds only the call of an edited part, in the older shape. */
export function encodeCall(
  part: ToolPart,
  before: ToolPart,
  wire: UnknownObject,
  context: EncodeContext,
): UnknownObject {
  const state = asObject(wire.state);
  const time = encodeTime({ ...part, outcome: before.outcome }, before, state, context.at);
  const metadata = withNote(state.metadata, noteOf(part));
  const input = part.input === before.input ? {} : { input: part.input };
  const isStateNeeded = wire.state !== undefined || time !== undefined || metadata !== undefined;
  if (!isStateNeeded) return { ...wire, ...input };
  return { ...wire, state: omitUndefined({ ...state, ...input, time, metadata }) };
}

/** The wire part that holds only the result of an edited call, in the older shape. */
export function encodeResult(part: ToolPart, wire: UnknownObject): UnknownObject {
  const { outcome } = part;
  if (outcome.status === "pending") return wire;
  const field = wire.text !== undefined ? "text" : wire.output !== undefined ? "output" : "content";
  return { ...wire, [field]: outcomeText(outcome) };
}

/** The wire part of an edited result that has no call. */
export function encodeOrphan(part: ToolPart, wire: UnknownObject): UnknownObject {
  const shown =
    part.clearedAt === undefined ? part : { ...part, outcome: withText(part.outcome, CLEARED_PLACEHOLDER) };
  return omitUndefined({ ...encodeResult(shown, wire), metadata: withNote(wire.metadata, noteOf(part)) });
}

function encodeNew(part: Part, context: EncodeContext): UnknownObject {
  switch (part.type) {
    case "text":
      return encodeText(part, { type: "text" });
    case "reasoning":
      return { type: "reasoning", text: part.text, time: { start: context.at } };
    case "tool":
      return encodeTool(
        part,
        undefined,
        { type: "tool", callID: part.callId, tool: part.tool, state: {} },
        context,
      );
    case "file":
      return encodeFile(part);
    case "compaction":
      return omitUndefined({
        type: "compaction",
        auto: part.trigger === "auto",
        overflow: part.overflow,
        tail_start_id: part.tailStartId,
      });
    case "opaque":
      return { type: part.name };
    default:
      return part satisfies never;
  }
}

function encodeText(part: TextPart, wire: UnknownObject): UnknownObject {
  return omitUndefined({
    ...wire,
    text: part.text,
    synthetic: part.synthetic,
    ignored: part.ignored,
    metadata: withNote(wire.metadata, part.own ?? (part.cut && { cut: part.cut })),
  });
}

function encodeTool(
  part: ToolPart,
  before: ToolPart | undefined,
  wire: UnknownObject,
  context: EncodeContext,
): UnknownObject {
  if (part.outcome.status === "failed" && part.clearedAt !== undefined) {
    // The host ignores the mark on an error, so the text itself has to go from what is sent.
    const { clearedAt: _, ...shown } = part;
    return encodeTool(
      { ...shown, outcome: withText(part.outcome, CLEARED_PLACEHOLDER) },
      before,
      wire,
      context,
    );
  }
  const state = asObject(wire.state);
  return {
    ...wire,
    state: omitUndefined({
      ...state,
      ...(part.input === before?.input ? {} : { input: part.input }),
      ...encodeOutcome(part, before, state),
      time: encodeTime(part, before, state, context.at),
      metadata: withNote(state.metadata, noteOf(part)),
    }),
  };
}

function encodeOutcome(
  { outcome }: ToolPart,
  before: ToolPart | undefined,
  state: UnknownObject,
): UnknownObject {
  if (outcome === before?.outcome) return {};
  switch (outcome.status) {
    case "pending":
      return { status: "pending" };
    case "failed":
      return { status: "error", error: outcome.error };
    case "done": {
      const old = before?.outcome.status === "done" ? before.outcome.attachments : [];
      const wireFiles = Array.isArray(state.attachments) ? state.attachments : [];
      let next = 0;
      const attachments = outcome.attachments.map((file) => {
        // The edit may come from another decoding of the same wire: what it knows of a file tells which it is.
        const index = old.findIndex((known, place) => place >= next && isSameFile(known, file));
        if (index === -1) return encodeFile(file);
        next = index + 1;
        return wireFiles[index] ?? encodeFile(file);
      });
      const isUnchanged =
        attachments.length === wireFiles.length && attachments.every((file, i) => file === wireFiles[i]);
      return {
        status: "completed",
        output: outcome.output,
        ...(isUnchanged ? {} : { attachments: attachments.length === 0 ? undefined : attachments }),
      };
    }
    default:
      return outcome satisfies never;
  }
}

function encodeTime(part: ToolPart, before: ToolPart | undefined, state: UnknownObject, at: number): unknown {
  if (part.clearedAt !== before?.clearedAt) {
    return omitUndefined({ start: at, ...asObject(state.time), compacted: part.clearedAt });
  }
  const hasEnded = part.outcome.status !== "pending" && (before?.outcome.status ?? "pending") === "pending";
  return hasEnded ? { start: at, ...asObject(state.time), end: at } : state.time;
}

function noteOf({ cut, inputCut }: ToolPart): UnknownObject | undefined {
  return cut || inputCut ? omitUndefined({ cut, inputCut }) : undefined;
}

/** Metadata with our note in it: what was cut, or that the part is ours. Without a note, as it was. */
function withNote(metadata: unknown, note: unknown): unknown {
  return note === undefined ? metadata : { ...asObject(metadata), carryover: note };
}

function encodeFile(file: FilePart): UnknownObject {
  return omitUndefined({
    type: "file",
    mime: asString(file.mime) ?? "application/octet-stream",
    filename: file.filename,
  });
}

function newIds({ sessionID, messageID, partIndex }: EncodeContext): UnknownObject {
  return omitUndefined({ id: `${messageID}-part-${partIndex + 1}`, sessionID, messageID });
}
