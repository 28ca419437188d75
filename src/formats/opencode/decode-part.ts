import { safeJson } from "../../text/safe-json.ts";
import type { Cut } from "../../text/truncate.ts";
import type { FilePart, InputCut, Part, ToolOutcome, ToolPart } from "../../transcript/part.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";

/** The canonical part of a wire part; one that is not understood becomes opaque. */
export function decodePart(wire: Fields): Part {
  switch (wire.type) {
    case "text":
      return typeof wire.text === "string" ? decodeText(wire, wire.text) : opaque(wire);
    case "reasoning":
      return typeof wire.text === "string" ? { type: "reasoning", text: wire.text } : opaque(wire);
    case "tool":
    case "tool_use":
    case "tool_call":
      return decodeTool(wire);
    case "file":
      return decodeFile(wire);
    case "compaction":
      return compact({
        type: "compaction" as const,
        trigger: wire.auto === true ? ("auto" as const) : ("manual" as const),
        overflow: wire.overflow === true ? (true as const) : undefined,
        tailStartId: stringField(wire.tail_start_id),
      });
    default:
      return opaque(wire);
  }
}

/** The outcome in a separate result part of the older shape. */
export function decodeResult(wire: Fields): ToolOutcome {
  const text = textOf(wire.text ?? wire.output ?? wire.content);
  return wire.isError === true
    ? { status: "failed", error: text }
    : { status: "done", output: text, attachments: [] };
}

/** The tool name of a call or a result, wherever the shape keeps it. */
export function toolName(wire: Fields): string | undefined {
  return stringField(wire.tool) ?? stringField(wire.name) ?? stringField(wire.toolName);
}

/** The id that joins a call and its result. */
export function callIdOf(wire: Fields): string | undefined {
  return stringField(wire.callID) ?? stringField(wire.toolCallId) ?? stringField(wire.tool_use_id);
}

function decodeText(wire: Fields, text: string): Part {
  const { carryover } = fields(wire.metadata);
  return compact({
    type: "text" as const,
    text,
    synthetic: wire.synthetic === true ? (true as const) : undefined,
    ignored: wire.ignored === true ? (true as const) : undefined,
    own: carryover === true ? (true as const) : undefined,
    ...decodeNote(wire.metadata),
  });
}

function decodeTool(wire: Fields): ToolPart {
  const state = fields(wire.state);
  const outcome = decodeState(state);
  return compact({
    type: "tool" as const,
    callId: callIdOf(wire) ?? stringField(wire.id) ?? "",
    tool: toolName(wire) ?? "unknown",
    input: state.input ?? wire.input ?? wire.args,
    outcome,
    // The host sends errors whole, whatever the mark says.
    clearedAt: outcome.status === "failed" ? undefined : decodeTimestamp(fields(state.time).compacted),
    ...decodeNote(state.metadata),
  }) as ToolPart;
}

/** What an earlier edit of ours left out of a part, as noted in its metadata. */
export function decodeNote(metadata: unknown): { readonly cut?: Cut; readonly inputCut?: InputCut } {
  const { cut, inputCut } = fields(fields(metadata).carryover);
  return compact({ cut: cut as Cut | undefined, inputCut: inputCut as InputCut | undefined });
}

function decodeState(state: Fields): ToolOutcome {
  const { interrupted, output: partial } = fields(state.metadata);
  // The host stores a stopped call as an error, and sends what it had printed until then as its output.
  if (state.status === "error" && interrupted === true && typeof partial === "string") {
    return { status: "done", output: partial, attachments: [] };
  }
  if (state.status === "error") return { status: "failed", error: textOf(state.error) };
  if (state.status === "completed" || (state.status === undefined && state.output !== undefined)) {
    const attachments = Array.isArray(state.attachments)
      ? state.attachments.map((file) => decodeFile(fields(file)))
      : [];
    return { status: "done", output: textOf(state.output), attachments };
  }
  return { status: "pending" };
}

function decodeFile(wire: Fields): FilePart {
  return compact({
    type: "file" as const,
    mime: stringField(wire.mime) ?? "application/octet-stream",
    filename: stringField(wire.filename),
    sizeBytes: dataUrlBytes(wire.url),
  });
}

function dataUrlBytes(url: unknown): number | undefined {
  if (typeof url !== "string" || !url.startsWith("data:")) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1) return undefined;
  const chars = url.length - comma - 1;
  return url.slice(0, comma).endsWith(";base64") ? Math.floor((chars * 3) / 4) : chars;
}

/** A cleared mark is a number; a string is tolerated, and anything else that is set still means cleared. */
function decodeTimestamp(value: unknown): number | undefined {
  if (value === undefined || value === null || value === false) return undefined;
  const time = typeof value === "string" ? Number(value) || Date.parse(value) : Number(value);
  return Number.isFinite(time) ? time : 0;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : safeJson(value);
}

function opaque(wire: Fields): Part {
  return { type: "opaque", name: stringField(wire.type) ?? "unknown" };
}
