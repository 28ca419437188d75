import type { FilePart } from "../../transcript/part.ts";
import type { Block, CallBlock, ItemContent, ResultBlock } from "../blocks/block-adapter.ts";
import { readArguments } from "../blocks/call-arguments.ts";
import { filePart } from "../blocks/file-part.ts";
import { UNKNOWN_TOOL } from "../blocks/read-blocks.ts";
import { type ResultShape, readResultContent } from "../blocks/result-content.ts";
import { safeCallId } from "../blocks/safe-call-id.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { isCall, isOutput } from "./read-openai-responses-wire.ts";
import type { ResponsesRun } from "./responses-run.ts";

/** A block of a run: a whole item, or a piece of a message's content. */
export type ResponsesValue =
  | { readonly in: "item"; readonly item: Fields }
  | { readonly in: "content"; readonly item?: Fields; readonly block: Fields };

/** Reads what the model gave in one go, or one item of anybody else. */
export function readResponsesRun(run: ResponsesRun): ItemContent<ResponsesValue> {
  const [first = {}] = run.items;
  return { role: roleOf(first), blocks: run.items.flatMap((item) => readItem(item, run)) };
}

function roleOf({ type, role }: Fields): string {
  if (type === "message" || type === undefined)
    return role === "developer" ? "system" : (stringField(role) ?? "unknown");
  if (isOutput(type) || type === "mcp_approval_response") return "user";
  return type === "compaction" ? "system" : "assistant";
}

function readItem(item: Fields, { keptCalls }: ResponsesRun): readonly Block<ResponsesValue>[] {
  const value = { in: "item" as const, item };
  const { type } = item;
  if (type === "message" || type === undefined)
    return contentOf(item).map((block) => readContent(item, block));
  if (isCall(type)) return [readCall(item)];
  if (isOutput(type)) return [readOutput(item)];
  const keptCall = keptCalls?.get(item);
  if (keptCall !== undefined)
    return [{ type: "call", callId: keptCall, tool: UNKNOWN_TOOL, input: undefined, value }];
  if (type === "reasoning" || (type === "item_reference" && isReasoningName(item.id)))
    return [{ type: "part", part: { type: "reasoning", text: summaryOf(item) }, value }];
  return [{ type: "part", part: { type: "opaque", name: stringField(type) ?? "unknown" }, value }];
}

/** The content of a message as a list; a text is a list of one. */
export function contentOf({ role, content }: Fields): readonly Fields[] {
  if (typeof content === "string") return [{ type: textTypeOf(role), text: content }];
  return Array.isArray(content) ? content.map(fields) : [];
}

/** What a text is called in the content of a message of this role. */
export function textTypeOf(role: unknown): string {
  return role === "assistant" ? "output_text" : "input_text";
}

function readContent(item: Fields, block: Fields): Block<ResponsesValue> {
  const value = { in: "content" as const, item, block };
  if (TEXTS.includes(block.type) && typeof block.text === "string")
    return { type: "part", part: { type: "text", text: block.text }, value };
  if (FILES.includes(block.type)) return { type: "part", part: readFile(block), value };
  return { type: "part", part: { type: "opaque", name: stringField(block.type) ?? "unknown" }, value };
}

const TEXTS: readonly unknown[] = ["text", "input_text", "output_text"];
const FILES: readonly unknown[] = ["input_image", "input_file", "input_audio"];

function readFile(value: unknown): FilePart {
  const { type, image_url: image, filename, file_data: data, input_audio: audio } = fields(value);
  const { format, data: sound } = fields(audio);
  return filePart({
    mime:
      typeof format === "string"
        ? `audio/${format}`
        : type === "input_image" && image === undefined
          ? "image/*"
          : undefined,
    filename: stringField(filename) ?? (FILES.includes(type) ? undefined : stringField(type)),
    url: stringField(image) ?? stringField(data),
    base64: stringField(sound),
  });
}

/** How an output writes its content. */
export const RESPONSES_RESULT: ResultShape = { textType: "input_text", readFile };

function isReasoningName(id: unknown): boolean {
  return typeof id === "string" && id.startsWith("rs_");
}

function summaryOf({ summary }: Fields): string {
  if (!Array.isArray(summary)) return "";
  return summary.map((block) => stringField(fields(block).text) ?? "").join("\n");
}

function readCall(item: Fields): CallBlock<ResponsesValue> {
  const { type, name } = item;
  return compact({
    type: "call" as const,
    callId: stringField(item.call_id),
    tool: stringField(name) ?? String(type).replace(/_call$/, ""),
    input: type === "function_call" ? readArguments(item.arguments) : item[inputField(type)],
    value: { in: "item" as const, item },
    ...mendId(item),
  }) as CallBlock<ResponsesValue>;
}

/** The field in which a call of this type has its input. */
export function inputField(type: unknown): string {
  if (type === "function_call") return "arguments";
  if (type === "custom_tool_call") return "input";
  return type === "apply_patch_call" ? "operation" : "action";
}

function readOutput(item: Fields): ResultBlock<ResponsesValue> {
  const { output } = item;
  // A screenshot is an object of its own where other tools give text or a list.
  const content = typeof output === "object" && output !== null && !Array.isArray(output) ? [output] : output;
  return compact({
    type: "result" as const,
    callId: stringField(item.call_id),
    outcome: { status: "done" as const, ...readResultContent(content, RESPONSES_RESULT) },
    value: { in: "item" as const, item },
    ...mendId(item),
  }) as ResultBlock<ResponsesValue>;
}

/** Call ids of other vendors may be longer than this API takes. */
function mendId(item: Fields): { readonly mended?: ResponsesValue } {
  const callId = stringField(item.call_id) ?? "";
  if (callId.length <= MAX_CALL_ID_CHARS) return {};
  return { mended: { in: "item", item: { ...item, call_id: safeCallId(callId) } } };
}

const MAX_CALL_ID_CHARS = 64;
