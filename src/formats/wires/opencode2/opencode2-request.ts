import { textOrJson } from "../../../text/json.ts";
import { asObject, asString, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import { type Fault, findFaults, findRenamedCalls } from "../../../transcript/format.ts";
import type { FilePart, Part, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import type { Block, ItemContent, ItemDraft, Source } from "../../blocks/block-adapter.ts";
import { createBlockFormat, type WireFormat } from "../../blocks/create-block-format.ts";
import { reasoningPart, sealedForm } from "../../blocks/sealed-thoughts.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent, writeResultContent } from "../../content/result-content.ts";
import { contentBlocks, writeText } from "../../content/text-blocks.ts";

/** A message of a request as OpenCode 2 holds it before it is written for a provider. */
export interface Opencode2Message {
  readonly id?: string;
  readonly role: string;
  readonly content: unknown;
  readonly metadata?: unknown;
}

/** The messages of a request, oldest first. */
export type Opencode2Request = readonly Opencode2Message[];

/** The messages that OpenCode 2 shows to a plugin right before a request: one `tool` message for each result. */
export const opencode2Request: WireFormat<Opencode2Request, Opencode2Message[]> =
  /* @__PURE__ */ createBlockFormat<Opencode2Request, Opencode2Message, UnknownObject, Opencode2Message[]>(
    {
      name: "opencode2-request",
      open: (wire) => (Array.isArray(wire) ? wire : []),
      close: (_, items) => items,
      read: readMessage,
      write: writeMessage,
      writePart,
      writeCall: ({ callId, tool, input }, { value }) => ({
        type: "tool-call",
        ...value,
        id: callId,
        name: tool,
        input: input ?? {},
      }),
      writeResult,
      renameCall: (value, id) => ({ ...value, id }),
      results: "apart",
      merges: (role) => (role === "assistant" ? "edited" : "never"),
      // A thought that was signed is the provider's own: it stays in the newest turn, where the provider wants it.
      normalizeTurn: (blocks, { isLast }) =>
        blocks.filter(({ hidden, value }) => hidden !== true || (isLast && isSigned(value))),
      encoding: { maxCallIdChars: 64, notInToolNames: /[^a-zA-Z0-9_-]/g },
    },
    findRequestFaults,
  );

function findRequestFaults(wire: Opencode2Request): readonly Fault[] {
  const transcript = opencode2Request.decode(wire);
  return [...findFaults(transcript), ...findRenamedCalls(transcript)];
}

/** A message of a tool counts as the user's, as it does for every provider. */
function readMessage(message: Opencode2Message): ItemContent<UnknownObject> {
  const { role: named, id, content } = asObject(message);
  const role = asString(named) ?? "unknown";
  const blocks = contentBlocks(content).map((part) => readPart(asObject(part), role));
  return omitUndefined({ role: role === "tool" ? "user" : role, blocks, id: asString(id) });
}

function readPart(value: UnknownObject, role: string): Block<UnknownObject> {
  const { type, text, id, name } = value;
  const callId = asString(id);
  if (type === "text" && typeof text === "string") return { type: "part", value, part: { type, text } };
  if (type === "reasoning" && typeof text === "string")
    return { type: "part", value, part: reasoningPart(text, sealedForm(value.providerMetadata)) };
  if (type === "media") return { type: "part", value, part: readMedia(value) };
  // What the provider itself ran only the provider can read.
  if (callId === undefined || value.providerExecuted === true)
    return { type: "part", value, part: opaquePart(type) };
  if (type === "tool-call")
    return { type: "call", value, callId, tool: asString(name) ?? "unknown", input: value.input };
  if (type === "tool-result" && role === "tool")
    return { type: "result", value, callId, tool: asString(name), outcome: readOutcome(value.result) };
  return { type: "part", value, part: opaquePart(type) };
}

function readMedia({ mediaType, filename, data }: UnknownObject): FilePart {
  const text = asString(data);
  return filePart({
    mime: asString(mediaType),
    filename: asString(filename),
    ...(text?.startsWith("data:") ? { url: text } : { base64: text }),
  });
}

function readOutcome(result: unknown): ToolOutcome {
  const { type, value } = asObject(result);
  if (type === "content") return { status: "done", ...readResultContent(value, RESULT_SHAPE) };
  if (type !== "error") return { status: "done", output: textOrJson(value), attachments: [] };
  const { error, content } = asObject(value);
  const said = asString(asObject(error).message) ?? textOrJson(value);
  const { output } = readResultContent(Array.isArray(content) ? content : [], RESULT_SHAPE);
  return { status: "failed", error: output === "" ? said : `${said}\n${output}` };
}

const RESULT_SHAPE: ResultShape = {
  textType: "text",
  readFile(entry) {
    const { mime, name, uri } = asObject(entry);
    return filePart({ mime: asString(mime), filename: asString(name), url: asString(uri) });
  },
};

/** Each result in a message of its own, everything else in one of its role. */
function writeMessage({
  role,
  base,
  blocks,
}: ItemDraft<Opencode2Message, UnknownObject>): readonly Opencode2Message[] {
  const others = blocks.filter(({ half }) => half !== "result");
  const results = blocks.filter(({ half }) => half === "result");
  const own = base?.role === role ? base : { role };
  return [
    ...results.map(({ value }) => ({ ...(base?.role === "tool" && base), role: "tool", content: [value] })),
    ...(others.length === 0 ? [] : [{ ...own, role, content: others.map(({ value }) => value) }]),
  ];
}

/** The value of a changed or new part. A thought that the provider signed cannot be changed. */
function writePart(part: Exclude<Part, ToolPart>, source: Source<UnknownObject>): UnknownObject | undefined {
  const { value } = source;
  if (part.type === "reasoning")
    return value !== undefined && isSigned(value)
      ? undefined
      : { type: "reasoning", ...value, text: part.text };
  return part.type === "opaque" ? value : writeText(part, source, "text");
}

function isSigned({ providerMetadata, encrypted }: UnknownObject): boolean {
  return encrypted !== undefined || Object.keys(asObject(providerMetadata)).length > 0;
}

/** The value of a changed or new result; media that the edit kept are unchanged. */
function writeResult(part: ToolPart, { value, before }: Source<UnknownObject>): UnknownObject {
  const { callId, tool, outcome } = part;
  const named = { type: "tool-result", name: tool, ...value, id: callId };
  if (outcome.status === "failed") return { ...named, result: { type: "error", value: outcome.error } };
  const { type, value: content } = asObject(value?.result);
  if (type !== "content") return { ...named, result: { type: "text", value: outcomeText(outcome) } };
  const written = writeResultContent(part, { before, content, shape: RESULT_SHAPE });
  return {
    ...named,
    result:
      typeof written === "string" ? { type: "text", value: written } : { type: "content", value: written },
  };
}
