import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { CallId, FilePart } from "../../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ResultBlock } from "../../blocks/block-adapter.ts";
import { UNKNOWN_TOOL } from "../../blocks/read-blocks.ts";
import { readArguments } from "../../content/call-arguments.ts";
import { safeCallId } from "../../content/call-ids.ts";
import { filePart, opaquePart } from "../../content/foreign-parts.ts";
import { type ResultShape, readResultContent } from "../../content/result-content.ts";

/** Consecutive items that the model produced, or one item of the user, a tool or the system. */
export interface ResponsesRun {
  readonly items: readonly UnknownObject[];
  /** Set when it is the request's `instructions` and not in its input. */
  readonly isInstructions?: true;
  /** Calls that the server stores, by the `item_reference` that refers to them. */
  readonly keptCalls?: ReadonlyMap<UnknownObject, CallId>;
}

/** The runs of a wire, its instructions first. */
export function runsOf(wire: ResponsesWire): readonly ResponsesRun[] {
  const items = responsesItems(wire).map(asObject);
  const keptCalls = findReferencedCalls(items);
  const runs: { items: UnknownObject[] }[] = [];
  let isOpen = false;
  for (const item of items) {
    const isModels = isMadeByModel(item);
    if (isModels && isOpen) runs.at(-1)?.items.push(item);
    else runs.push({ items: [item] });
    isOpen = isModels;
  }
  const all = keptCalls.size === 0 ? runs : runs.map((run) => ({ ...run, keptCalls }));
  const { instructions } = Array.isArray(wire) ? {} : asObject(wire);
  if (instructions === undefined || instructions === null) return all;
  return [{ items: [{ role: "system", content: instructions }], isInstructions: true }, ...all];
}

/** The items of a request; a bare text counts as a user's message. */
export function responsesItems(wire: unknown): readonly unknown[] {
  const input = Array.isArray(wire) ? wire : asObject(wire).input;
  if (Array.isArray(input)) return input;
  return typeof input === "string" ? [{ role: "user", content: input }] : [];
}

/** The wire with other runs in it. */
export function withRuns(wire: ResponsesWire, runs: readonly ResponsesRun[]): ResponsesWire {
  const input = runs.flatMap(({ items, isInstructions }) => (isInstructions ? [] : items)) as ResponsesItem[];
  if (Array.isArray(wire) || typeof wire !== "object" || wire === null) return input;
  const { instructions: _, ...request } = wire as Exclude<ResponsesWire, readonly unknown[]>;
  const kept = runs.find(({ isInstructions }) => isInstructions)?.items[0];
  return kept === undefined ? { ...request, input } : { ...wire, instructions: kept.content, input };
}

/** True when results may answer calls that are stored on the server. */
export function continuesStoredResponse(wire: ResponsesWire): boolean {
  const { previous_response_id: previous, conversation } = asObject(wire);
  return Boolean(previous ?? conversation);
}

/** True for an item that the model produced. */
export function isMadeByModel({ type, role }: UnknownObject): boolean {
  if (type === "message" || type === undefined) return role === "assistant";
  return !isOutput(type) && !NON_MODEL_ITEMS.includes(type);
}

const NON_MODEL_ITEMS: readonly unknown[] = ["compaction", "mcp_approval_response"];

/** An output whose call is not in the wire belongs to the oldest reference to a call before it. */
function findReferencedCalls(items: readonly UnknownObject[]): ReadonlyMap<UnknownObject, CallId> {
  const kept = new Map<UnknownObject, CallId>();
  const known = new Set<unknown>();
  let named: UnknownObject[] = [];
  let taken = 0;
  for (const item of items) {
    if (isCall(item.type)) known.add(item.call_id);
    if (item.type === "item_reference" && isCallId(item.id)) named.push(item);
    else if (isOutput(item.type) && !known.has(item.call_id)) {
      const callId = asString(item.call_id);
      const call = named[taken++];
      if (call !== undefined && callId !== undefined) kept.set(call, callId);
    } else if (item.role === "user") {
      named = [];
      taken = 0;
    }
  }
  return kept;
}

function isCallId(id: unknown): boolean {
  return typeof id === "string" && /^(?:fc|ctc)_/.test(id);
}

/** An item of the input of OpenAI's Responses API. Types and fields that are not known are kept as they are. */
export interface ResponsesItem {
  readonly type?: string | undefined;
  readonly role?: string | undefined;
}

/** A request of that API; `instructions`, `store` and what it continues are looked at, everything else is kept. */
export interface ResponsesRequest {
  readonly input: string | readonly ResponsesItem[];
  readonly instructions?: unknown;
  readonly store?: unknown;
  readonly previous_response_id?: unknown;
  readonly conversation?: unknown;
}

/** What the Responses format reads: a list of input items, or a whole request. */
export type ResponsesWire = readonly ResponsesItem[] | ResponsesRequest;

/** A block of a run: a whole item, or a piece of a message's content. */
export type ResponsesValue =
  | { readonly in: "item"; readonly item: UnknownObject }
  | { readonly in: "content"; readonly item?: UnknownObject; readonly block: UnknownObject };

/** Reads one run. */
export function readResponsesRun(run: ResponsesRun): ItemContent<ResponsesValue> {
  const items = run.items.map((item) => readResponsesItem(item, run));
  return { role: items[0]?.role ?? "unknown", blocks: items.flatMap(({ blocks }) => blocks) };
}

/** Reads one item of a run. */
export function readResponsesItem(item: UnknownObject, run: ResponsesRun): ItemContent<ResponsesValue> {
  return { role: roleOf(item), blocks: readItem(item, run) };
}

function roleOf({ type, role }: UnknownObject): string {
  if (type === "message" || type === undefined)
    return role === "developer" ? "system" : (asString(role) ?? "unknown");
  if (isOutput(type) || type === "mcp_approval_response") return "user";
  return type === "compaction" ? "system" : "assistant";
}

function readItem(item: UnknownObject, { keptCalls }: ResponsesRun): readonly Block<ResponsesValue>[] {
  const value = { in: "item" as const, item };
  const { type } = item;
  if (type === "message" || type === undefined)
    return contentOf(item).map((block) => readContent(item, block));
  if (isCall(type)) return [readCall(item)];
  if (isOutput(type)) return [readOutput(item)];
  const keptCall = keptCalls?.get(item);
  if (keptCall !== undefined)
    return [{ type: "call", callId: keptCall, tool: UNKNOWN_TOOL, input: undefined, value }];
  if (type === "reasoning" || (type === "item_reference" && isReasoningId(item.id)))
    return [{ type: "part", part: { type: "reasoning", text: summaryOf(item) }, value }];
  if (type === "compaction")
    return [{ type: "part", part: { ...opaquePart(type), providerBlock: "openai" }, value }];
  return [{ type: "part", part: opaquePart(type, item), value }];
}

/** True for the type of an item that is the result of a call. */
function isOutput(type: unknown): boolean {
  return typeof type === "string" && type.endsWith("_call_output");
}

/** True for the type of an item that calls a tool of the client and waits for a result. */
function isCall(type: unknown): boolean {
  return CALLS.includes(type);
}

const CALLS: readonly unknown[] = [
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
];

/** The content of a message as a list; a text is a list of one. */
export function contentOf({ role, content }: UnknownObject): readonly UnknownObject[] {
  if (typeof content === "string") return [{ type: textTypeOf(role), text: content }];
  return Array.isArray(content) ? content.map(asObject) : [];
}

/** The `type` of a text block in a message of this role. */
export function textTypeOf(role: unknown): string {
  return role === "assistant" ? "output_text" : "input_text";
}

function readContent(item: UnknownObject, block: UnknownObject): Block<ResponsesValue> {
  const value = { in: "content" as const, item, block };
  if (TEXTS.includes(block.type) && typeof block.text === "string")
    return { type: "part", part: { type: "text", text: block.text }, value };
  if (MEDIA.includes(block.type)) return { type: "part", part: readFile(block), value };
  return { type: "part", part: opaquePart(block.type), value };
}

const TEXTS: readonly unknown[] = ["text", "input_text", "output_text"];
/** The types of blocks that are no text. */
const MEDIA: readonly unknown[] = ["input_image", "input_file", "input_audio"];

function readFile(value: unknown): FilePart {
  const { type, image_url: image, filename, file_data: data, input_audio: audio } = asObject(value);
  const { format, data: sound } = asObject(audio);
  return filePart({
    mime:
      typeof format === "string"
        ? `audio/${format}`
        : type === "input_image" && image === undefined
          ? "image/*"
          : undefined,
    filename: asString(filename) ?? (MEDIA.includes(type) ? undefined : asString(type)),
    url: asString(image) ?? asString(data),
    base64: asString(sound),
  });
}

/** How an output writes its content. */
export const RESPONSES_RESULT: ResultShape = { textType: "input_text", readFile };

function isReasoningId(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("rs_");
}

function summaryOf({ summary }: UnknownObject): string {
  if (!Array.isArray(summary)) return "";
  return summary.map((block) => asString(asObject(block).text) ?? "").join("\n");
}

function readCall(item: UnknownObject): CallBlock<ResponsesValue> {
  const { type, name } = item;
  return {
    type: "call",
    callId: asString(item.call_id),
    tool: asString(name) ?? (asString(type) ?? "").replace(/_call$/, ""),
    input: type === "function_call" ? readArguments(item.arguments) : item[inputField(type)],
    value: { in: "item" as const, item },
    ...repairId(item),
  };
}

/** The field in which a call of this type has its input. */
export function inputField(type: unknown): string {
  if (type === "function_call") return "arguments";
  if (type === "custom_tool_call") return "input";
  return type === "apply_patch_call" ? "operation" : "action";
}

function readOutput(item: UnknownObject): ResultBlock<ResponsesValue> {
  const { output } = item;
  // A screenshot is an object, where other tools give text or a list.
  const content = typeof output === "object" && output !== null && !Array.isArray(output) ? [output] : output;
  return {
    type: "result",
    callId: asString(item.call_id),
    outcome: { status: "done" as const, ...readResultContent(content, RESPONSES_RESULT) },
    value: { in: "item" as const, item },
    ...repairId(item),
  };
}

/** Call ids of other vendors may be longer than this API accepts. */
function repairId(item: UnknownObject): { readonly repaired?: ResponsesValue } {
  const callId = asString(item.call_id) ?? "";
  if (callId.length <= MAX_CALL_ID_CHARS) return {};
  return { repaired: { in: "item", item: { ...item, call_id: shortCallId(callId) } } };
}

/** The longest call id that the API takes. */
export const MAX_CALL_ID_CHARS = 64;

/** The id itself, or a name derived from one that is longer than this API accepts. */
export function shortCallId(callId: CallId): CallId {
  return callId.length <= MAX_CALL_ID_CHARS ? callId : safeCallId(callId);
}
