import { modelFacts } from "../../../models/model-facts.ts";
import { jsonOrText } from "../../../text/json.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Fault, ProviderRule } from "../../../transcript/format.ts";
import { contentBlocks, isJsonText } from "../../blocks/message-content.ts";
import {
  faultAt,
  findCommonFaults,
  type WireBlock,
  type WireMessage,
  type WirePlace,
  wireList,
} from "../../faults/find-common-faults.ts";

/**
 * What a chat completions API would refuse in a request, or in its bare list of messages. Checks common-01 to
 * common-12 and openai-chat-28 to 32; what only some vendors ask is checked when the vendor or the model is known.
 */
export function findOpenAIChatFaults(wire: unknown, options: OpenAIChatFaultOptions = {}): readonly Fault[] {
  const messages = wireList(wire, "messages").map(asObject);
  const model = asString(asObject(wire).model) ?? "";
  const vendor = options.vendor ?? vendorOfModel(model);
  return [
    ...findCommonFaults(readOpenAIChatWire(wire)),
    ...orderFaults(messages),
    ...argumentFaults(messages),
    ...findChatVendorFaults(messages, { vendor, turns: turnsToResend(model) }),
  ];
}

interface OpenAIChatFaultOptions {
  /** Read from the request's model when unset. */
  readonly vendor?: ChatVendor;
}

/** The vendor of a model, as far as its name tells. */
export function vendorOfModel(model: string): ChatVendor {
  if (/(?:^|\/)(?:mistral|ministral|magistral|codestral|devstral|pixtral)/i.test(model)) return "mistral";
  return modelFacts({ id: model }).resend === "optional" ? "openai" : "reasoning-content";
}

/** In which turns a model wants its reasoning again: those of the current tool loop, or all that called a tool. */
export function turnsToResend(model: string): ResentTurns {
  return modelFacts({ id: model }).resend === "tool-turns" ? "all-with-calls" : "tool-loop";
}

type ResentTurns = "tool-loop" | "all-with-calls";

/** The turns that must have a field for their reasoning, where any has one. */
export function isTurnToResend(messages: readonly unknown[], turns: ResentTurns): (index: number) => boolean {
  const start = messages.findLastIndex((message) => asObject(message).role === "user");
  return (index) => {
    const { role, tool_calls: calls } = asObject(messages[index]);
    if (role !== "assistant") return false;
    return index > start || (turns === "all-with-calls" && asArray(calls).length > 0);
  };
}

/** openai-chat-28 and openai-chat-29: results come right behind the message that called, and none is missing there. */
function* orderFaults(messages: readonly UnknownObject[]): Generator<Fault> {
  let open = new Set<string>();
  let opener = -1;
  function* missing(): Generator<Fault> {
    for (const callId of open)
      yield faultOf(
        "openai-chat-29",
        opener,
        `call ${callId} is not answered before the next message: put its result there`,
      );
  }
  for (const [index, { role, tool_calls: calls, tool_call_id: resultOf }] of messages.entries()) {
    if (role === "tool") {
      const callId = asString(resultOf) ?? "";
      if (!open.delete(callId))
        yield faultOf(
          "openai-chat-28",
          index,
          `a result of ${callId}, which the message before did not call: move it behind its call or leave it out`,
        );
      continue;
    }
    yield* missing();
    opener = index;
    open = new Set(asArray(calls).map((call) => asString(asObject(call).id) ?? ""));
  }
  yield* missing();
}

/** openai-chat-30: arguments are a text that parses as JSON. */
function* argumentFaults(messages: readonly UnknownObject[]): Generator<Fault> {
  for (const [index, { tool_calls: calls }] of messages.entries()) {
    for (const call of asArray(calls)) {
      const { function: called } = asObject(call);
      if (called !== undefined && !isJsonText(asObject(called).arguments))
        yield faultOf("openai-chat-30", index, "arguments that are no JSON text: write them as JSON");
    }
  }
}

/** Whose chat completions API it is, as far as the rules differ: `strict` takes results as plain text only. */
export type ChatVendor = "openai" | "strict" | "mistral" | "reasoning-content";

/** What only some vendors of a chat completions API refuse: the rest of openai-chat-30, openai-chat-31 and 32. */
function findChatVendorFaults(messages: readonly UnknownObject[], rules: VendorRules): readonly Fault[] {
  const { vendor } = rules;
  return [
    ...(vendor === "openai" ? [] : resultContentFaults(messages)),
    ...reasoningFaults(messages, rules),
    ...(vendor === "mistral" ? mistralFaults(messages) : []),
  ];
}

interface VendorRules {
  readonly vendor: ChatVendor;
  readonly turns: ResentTurns;
}

const faultOf = (rule: ProviderRule, index: number, text: string): Fault =>
  faultAt(rule, { messageId: `messages[${index}]` }, text);

function* resultContentFaults(messages: readonly UnknownObject[]): Generator<Fault> {
  for (const [index, { role, content }] of messages.entries())
    if (role === "tool" && typeof content !== "string")
      yield faultOf("openai-chat-30", index, "a result that is no plain text: write it as one");
}

/** openai-chat-31: where one turn of the current tool loop has its reasoning, all have; some models want it in every turn with calls. */
function* reasoningFaults(
  messages: readonly UnknownObject[],
  { vendor, turns }: VendorRules,
): Generator<Fault> {
  const isWanted = isTurnToResend(messages, turns);
  const wanted = [...messages.keys()].filter(isWanted);
  const without = wanted.filter((index) => typeof messages[index]?.reasoning_content !== "string");
  if (vendor !== "reasoning-content" && without.length === wanted.length) return;
  for (const index of without)
    yield faultOf("openai-chat-31", index, "no reasoning_content in this turn: send it, even empty");
}

/** openai-chat-32: ids of nine letters and digits, an answer between result and question, no answer at the end. */
function* mistralFaults(messages: readonly UnknownObject[]): Generator<Fault> {
  for (const [index, { role, tool_calls: calls, tool_call_id: resultOf }] of messages.entries()) {
    const ids = role === "tool" ? [resultOf] : asArray(calls).map((call) => asObject(call).id);
    if (ids.some((id) => !MISTRAL_ID.test(asString(id) ?? "")))
      yield faultOf("openai-chat-32", index, "an id that is not nine letters and digits: rename it");
    if (role === "user" && messages[index - 1]?.role === "tool")
      yield faultOf("openai-chat-32", index, "a question right behind a result: put an answer between");
  }
  const last = messages.length - 1;
  if (messages[last]?.role === "assistant")
    yield faultOf("openai-chat-32", last, "the model has the last word: end with a user or a result");
}

const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/;

/** The messages of a chat completions request as the rules see them; total. */
export function readOpenAIChatWire(wire: unknown): readonly WireMessage[] {
  return wireList(wire, "messages").map((message, index) => {
    const read = asObject(message);
    const place = { messageId: `messages[${index}]` };
    return { ...place, side: SIDES.get(asString(read.role)) ?? "user", blocks: blocksOf(read, place) };
  });
}

const SIDES: ReadonlyMap<unknown, WireMessage["side"]> = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["assistant", "assistant"],
]);

function blocksOf(message: UnknownObject, place: WirePlace): readonly WireBlock[] {
  const { role, content, tool_call_id: resultOf } = message;
  if (role === "tool" || role === "function") {
    const read = contentBlocks(content).map((block) => asObject(block).text);
    return [{ ...place, type: "result", callId: asString(resultOf) ?? "", read, wire: message }];
  }
  const { tool_calls: calls, refusal, reasoning_content: reasoning, audio } = message;
  const blocks: WireBlock[] = [];
  if (asString(reasoning)) blocks.push({ ...place, type: "reasoning", wire: reasoning });
  const callBlocks = asArray(calls).map((call) => callBlock(call, place));
  // Clients write an empty text beside calls where there is none.
  const isNoText = content === "" && callBlocks.length > 0;
  if (!isNoText)
    blocks.push(...contentBlocks(content).map((block, index) => contentBlock(block, index, place)));
  if (asString(refusal)) blocks.push({ ...place, type: "text", read: refusal, wire: refusal });
  if (audio !== undefined && audio !== null) blocks.push({ ...place, type: "media", wire: audio });
  return [...blocks, ...callBlocks];
}

function contentBlock(block: unknown, partIndex: number, { messageId }: WirePlace): WireBlock {
  const { type, text, refusal } = asObject(block);
  const place = { messageId, partIndex, wire: block };
  if (type === "text" || type === "refusal") return { ...place, type: "text", read: text ?? refusal };
  return { ...place, type: MEDIA.includes(type) ? "media" : "opaque" };
}

/** The types of blocks that are no text. */
export const MEDIA: readonly unknown[] = ["image_url", "input_audio", "file"];

function callBlock(call: unknown, place: WirePlace): WireBlock {
  const { id, function: called, custom } = asObject(call);
  const { name, arguments: input } = asObject(called ?? custom);
  return {
    ...place,
    type: "call",
    callId: asString(id) ?? "",
    read: [name, jsonOrText(input)],
    wire: call,
  };
}
