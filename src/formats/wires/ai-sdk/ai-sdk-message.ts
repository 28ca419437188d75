import { safeJson, textOrJson } from "../../../text/json.ts";
import { asObject, asString, omitUndefined, type UnknownObject } from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { FilePart, MessageId, Part, ToolOutcome, ToolPart } from "../../../transcript/part.ts";
import type {
  Block,
  ItemContent,
  ItemDraft,
  PlacedBlock,
  Source,
  TurnContext,
} from "../../blocks/block-adapter.ts";
import { reasoningPart, sealedForm } from "../../blocks/sealed-thoughts.ts";
import { hasThoughtSignature, withStandIn } from "../../blocks/thought-signature.ts";
import { opaquePart } from "../../content/foreign-parts.ts";
import { hashEnds } from "../../content/message-id.ts";
import { type ResultShape, readResultContent, writeResultContent } from "../../content/result-content.ts";
import { contentBlocks, joinTexts, writeText } from "../../content/text-blocks.ts";

/** A message as applications of the AI SDK hold it (`ModelMessage`) or as a model receives it. */
export interface AiSdkMessage {
  readonly role: string;
  readonly content: unknown;
  readonly providerOptions?: unknown;
}

/** The messages of a conversation, or a prompt, oldest first. */
export type AiSdkWire = readonly AiSdkMessage[];

/** Messages of another form read in order, with the results that stand together as one message. */
export function readWire<Message>(messages: readonly Message[], reading: WireReading<Message>): AiSdkWire {
  const wire: AiSdkMessage[] = [];
  let results: Message[] = [];
  for (const [at, message] of messages.entries()) {
    const isResult = reading.isResult(message);
    if (isResult) results.push(message);
    if (results.length > 0 && (!isResult || at === messages.length - 1)) {
      wire.push(reading.readResults(results));
      results = [];
    }
    if (!isResult) wire.push(reading.readMessage(message));
  }
  return wire;
}

interface WireReading<Message> {
  isResult(message: Message): boolean;
  readResults(messages: readonly Message[]): AiSdkMessage;
  readMessage(message: Message): AiSdkMessage;
}

/** Where a part keeps the block, and a message the message, that it was read from: edits copy it with the rest. */
export const ORIGIN: unique symbol = Symbol("carryover.origin");

export function originOf(value: object): UnknownObject | undefined {
  return (value as { readonly [ORIGIN]?: UnknownObject })[ORIGIN];
}

/** A message that `encode` writes: a `ModelMessage` of the AI SDK. */
export type EncodedAiSdkMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: (EncodedText | EncodedFile)[] }
  | { role: "assistant"; content: (EncodedText | EncodedReasoning | EncodedCall)[] }
  | { role: "tool"; content: EncodedResult[] };

interface EncodedText {
  type: "text";
  text: string;
}

interface EncodedFile {
  type: "file";
  data: string | Uint8Array;
  mediaType: string;
  filename?: string;
}

interface EncodedReasoning {
  type: "reasoning";
  text: string;
}

interface EncodedCall {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
}

interface EncodedResult {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: { type: "text" | "error-text"; value: string };
}

/** The parts of a message; a plain text is one part. */
export function contentOf(message: AiSdkMessage): readonly UnknownObject[] {
  return contentBlocks(asObject(message).content).map(asObject);
}

/** A part without what refers to other parts of its message; undefined for a thought that the provider has stored with them. */
export function detachPart({ part, value }: PlacedBlock<UnknownObject>): UnknownObject | undefined {
  if (part.providerBlock !== undefined) return value;
  return part.type === "reasoning" && hasItemId(value) ? undefined : withoutItemId(value);
}

/** An answer with its texts in a row made one: some providers put nothing between two of them. */
export function joinAnswerTexts(message: AiSdkMessage): AiSdkMessage {
  const { role, content } = message;
  return role === "assistant" && Array.isArray(content)
    ? { ...message, content: joinTexts(content) }
    : message;
}

/** True for a part of an assistant's message that refers to an item stored by the provider. */
function hasItemId(part: UnknownObject): boolean {
  return ITEM_STORING_PROVIDERS.some(
    (name) => asObject(asObject(part.providerOptions)[name]).itemId !== undefined,
  );
}

/** The part without that reference, since its content is no longer what is stored. */
function withoutItemId(part: UnknownObject): UnknownObject {
  if (!hasItemId(part)) return part;
  const options: Record<string, unknown> = { ...asObject(part.providerOptions) };
  for (const name of ITEM_STORING_PROVIDERS) {
    if (options[name] === undefined) continue;
    const { itemId: _, ...rest } = asObject(options[name]);
    options[name] = rest;
  }
  return { ...part, providerOptions: options };
}

const ITEM_STORING_PROVIDERS: readonly string[] = ["openai", "azure"];

/** A message as blocks; a message of tool results counts as the user's, as it does for every provider. */
export function readAiSdkMessage(message: AiSdkMessage): ItemContent<UnknownObject> {
  const role = asString(asObject(message).role) ?? "unknown";
  const parts = contentOf(message);
  const providerBlock = parts.find((part) => providerBlockOf(part) !== undefined);
  return {
    role: role === "tool" ? "user" : role,
    blocks: parts.map((part) => readPart(part, role)),
    ...(providerBlock && { id: providerBlockId(providerBlock) }),
  };
}

/** By the block alone: applications may drop everything before it, and then all places change. */
function providerBlockId({ text, providerOptions }: UnknownObject): MessageId {
  return `native-${(hashEnds(asString(text) ?? safeJson(providerOptions)) >>> 0).toString(36)}`;
}

/** What became of a call, from the output of its result. */
function readOutput(output: unknown): ToolOutcome {
  const { type, value, reason } = asObject(output);
  switch (type) {
    case "error-text":
    case "error-json":
      return { status: "failed", error: textOrJson(value) };
    case "execution-denied":
      return { status: "failed", error: asString(reason) ?? DENIED };
    case "content":
      return { status: "done", ...readResultContent(value, RESULT_SHAPE) };
    default:
      return { status: "done", output: textOrJson(type === undefined ? output : value), attachments: [] };
  }
}

/** How an output of several texts and files is written. */
const RESULT_SHAPE: ResultShape = { textType: "text", readFile: (entry) => readFile(asObject(entry)) };

/** A file, an image or anything else that is no text, as far as a transcript knows it. */
function readFile(part: UnknownObject): FilePart {
  return omitUndefined({
    type: "file" as const,
    mime: asString(part.mediaType) ?? (part.type === "image" ? "image/*" : "application/octet-stream"),
    filename: asString(part.filename),
    sizeBytes: sizeOf(part.data ?? part.image),
  });
}

/** What the AI SDK itself tells a model about a call that was not allowed. */
const DENIED = "Tool execution denied.";

function readPart(value: UnknownObject, role: string): Block<UnknownObject> {
  switch (value.type) {
    case "text":
      if (typeof value.text !== "string") break;
      return {
        type: "part",
        value,
        part: { type: "text", text: value.text, ...omitUndefined({ providerBlock: providerBlockOf(value) }) },
      };
    case "reasoning":
      if (typeof value.text !== "string") break;
      return { type: "part", value, part: reasoningPart(value.text, sealedForm(value.providerOptions)) };
    case "file":
    case "image":
      return { type: "part", value, part: readFile(value) };
    case "tool-call":
      if (value.providerExecuted === true)
        return { type: "part", value, part: opaquePart(value.type, [value.toolName, value.input]) };
      if (typeof value.toolCallId !== "string") break;
      return {
        type: "call",
        value,
        callId: value.toolCallId,
        tool: asString(value.toolName) ?? "unknown",
        input: value.input,
        isSigned: isSignedCall(value),
      };
    case "tool-result":
      // The result of a tool that the provider ran is in the answer, and only the provider can read it.
      if (role !== "tool") return { type: "part", value, part: opaquePart(value.type, [value.output]) };
      if (typeof value.toolCallId !== "string") break;
      return {
        type: "result",
        value,
        callId: value.toolCallId,
        tool: asString(value.toolName),
        outcome: readOutput(value.output),
      };
    case "custom":
      return {
        type: "part",
        value,
        part: { ...opaquePart(value.type), ...omitUndefined({ providerBlock: providerBlockOf(value) }) },
      };
    case "tool-approval-request":
      return {
        type: "part",
        value,
        part: opaquePart(value.type),
        ...omitUndefined({ ofCall: asString(value.toolCallId) }),
      };
    default:
      break;
  }
  return { type: "part", value, part: opaquePart(value.type) };
}

/** Who made the compaction that a part is: a text of Anthropic's package, or one of a kind such as `openai.compaction`. */
export function providerBlockOf({ type, text, kind, providerOptions }: UnknownObject): string | undefined {
  if (type === "custom") return /^(.+)\.compaction$/.exec(asString(kind) ?? "")?.[1];
  const isBlock = asObject(asObject(providerOptions).anthropic).type === "compaction";
  return type === "text" && isBlock && asString(text)?.trim() ? "anthropic" : undefined;
}

function sizeOf(data: unknown): number | undefined {
  if (typeof data === "string") return URL_START.test(data) ? undefined : Math.floor((data.length * 3) / 4);
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) return data.byteLength;
  const { type, data: inner, text } = asObject(data);
  if (type === "data") return sizeOf(inner);
  return type === "text" ? asString(text)?.length : undefined;
}

const URL_START = /^https?:/;

/** The messages of a turn that an edit changed: results in a `tool` message, everything else in one of its role. */
export function writeAiSdkMessage(draft: ItemDraft<AiSdkMessage, UnknownObject>): readonly AiSdkMessage[] {
  const { role, base } = draft;
  const blocks =
    role === "assistant" && base !== undefined ? unlinkStoredItems(draft.blocks, base) : draft.blocks;
  return runsOf(blocks).map((run) => {
    const wanted = isOfTool(run[0]) ? "tool" : role;
    return message(run, base?.role === wanted ? base : { role: wanted, content: [] });
  });
}

/** The blocks as messages hold them, in their order. */
function runsOf(
  blocks: readonly PlacedBlock<UnknownObject>[],
): readonly (readonly [PlacedBlock<UnknownObject>, ...PlacedBlock<UnknownObject>[]])[] {
  const runs: [PlacedBlock<UnknownObject>, ...PlacedBlock<UnknownObject>[]][] = [];
  for (const block of blocks) {
    const last = runs.at(-1);
    if (last !== undefined && isOfTool(last[0]) === isOfTool(block)) last.push(block);
    else runs.push([block]);
  }
  return runs;
}

/** The value of a changed or new part. Reasoning that the provider signed cannot be changed. */
export function writePart(
  part: Exclude<Part, ToolPart>,
  source: Source<UnknownObject>,
): UnknownObject | undefined {
  const { value } = source;
  if (part.type === "reasoning")
    return value?.providerOptions === undefined
      ? { type: "reasoning", ...value, text: part.text }
      : undefined;
  if (part.type === "opaque") return value;
  if (part.type === "text" && part.providerBlock === "anthropic" && part.block !== undefined) {
    const { type, content: text, signature } = part.block;
    return { type: "text", text, providerOptions: { anthropic: { type, signature } } };
  }
  // A compaction block of which only the words are left is a text like any other.
  const isWordsOnly =
    part.providerBlock === undefined && value !== undefined && providerBlockOf(value) !== undefined;
  return writeText(part, isWordsOnly ? { role: source.role } : source, "text");
}

/** The value of a changed or new call. Its signature is valid only for the input that it came with. */
export function writeCall(
  { callId, tool, input }: ToolPart,
  { value, before }: Source<UnknownObject>,
): UnknownObject {
  const call = { type: "tool-call", ...value, toolCallId: callId, toolName: tool, input: input ?? {} };
  const isSameInput = before?.type === "tool" && safeJson(before.input) === safeJson(input);
  if (value === undefined || isSameInput || !isSignedCall(value)) return call;
  return { ...call, providerOptions: withStandIn(value.providerOptions) };
}

/** True for a call that its provider signed for all calls of the step. */
export function isSignedCall({ type, providerOptions }: UnknownObject): boolean {
  return type === "tool-call" && hasThoughtSignature(providerOptions);
}

/** The value of a changed or new result; media that the edit kept are unchanged. */
export function writeResult(part: ToolPart, { value, before }: Source<UnknownObject>): UnknownObject {
  const { callId, tool, outcome } = part;
  const result = { type: "tool-result", toolCallId: callId, toolName: tool, ...value };
  const output = asObject(value?.output);
  const kept = omitUndefined({ providerOptions: output.providerOptions });
  if (outcome.status === "failed")
    return { ...result, output: { type: "error-text", value: outcome.error, ...kept } };
  const isList = outcome.status === "done" && outcome.attachments.length > 0 && Array.isArray(output.value);
  if (!isList) return { ...result, output: { type: "text", value: outcomeText(outcome), ...kept } };
  const content = writeResultContent(part, {
    before,
    content: output.value,
    shape: RESULT_SHAPE,
  });
  return { ...result, output: { ...output, value: content } };
}

/**
 * Drops hidden reasoning, except where the provider needs it: signed in the newest turn, unsigned in the whole tool loop and
 * in every turn with calls (some models want it back there for ever, and the SDK leaves out an empty one), and with the stored
 * items it belongs to.
 */
export function dropHiddenReasoning(
  blocks: readonly PlacedBlock<UnknownObject>[],
  { isLast, isInLoop }: TurnContext<AiSdkWire>,
): readonly PlacedBlock<UnknownObject>[] {
  if (!blocks.some(({ hidden }) => hidden)) return blocks;
  const isCalling = blocks.some(({ half }) => half === "call");
  const isBound = (value: UnknownObject): boolean =>
    hasItemId(value) || (value.providerOptions === undefined ? isInLoop || isCalling : isLast);
  return blocks.filter(({ hidden, value }) => hidden !== true || isBound(value));
}

/**
 * The blocks without references that are no longer valid: once a block of a message changed, stored reasoning does not
 * match what follows it, and the other blocks are sent by content instead of by id.
 */
function unlinkStoredItems(
  blocks: readonly PlacedBlock<UnknownObject>[],
  base: AiSdkMessage,
): readonly PlacedBlock<UnknownObject>[] {
  const content = contentOf(base);
  if (!content.some(hasItemId)) return blocks;
  const isWhole =
    blocks.length === content.length &&
    blocks.every(({ changed, index }, place) => !changed && index === place);
  if (isWhole) return blocks;
  const isThought = content.some((part) => part.type === "reasoning" && hasItemId(part));
  return blocks
    .filter(({ part, value }) => part.type !== "reasoning" || !hasItemId(value))
    .filter(({ value }) => !isThought || !isOfProvider(value))
    .map((block) =>
      block.part.providerBlock === undefined ? { ...block, value: withoutItemId(block.value) } : block,
    );
}

/** True for a call that the provider ran itself, or its result: they are stored items too, and refused without the thought before them. */
function isOfProvider({ type, providerExecuted }: UnknownObject): boolean {
  return providerExecuted === true || type === "tool-result";
}

function message(blocks: readonly PlacedBlock<UnknownObject>[], base: AiSdkMessage): AiSdkMessage {
  const values = blocks.map(({ value }) => value);
  // Only a system message has to be a plain text.
  const content = base.role === "system" ? values.map(({ text }) => asString(text) ?? "").join("\n") : values;
  return { ...base, content };
}

function isOfTool({ half, value }: PlacedBlock<UnknownObject>): boolean {
  return half === "result" || value.type === "tool-approval-response";
}
