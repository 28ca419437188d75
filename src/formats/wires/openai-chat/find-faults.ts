import { modelFacts } from "../../../models/model-facts.ts";
import { asArray, asObject, asString } from "../../../text/unknown-value.ts";
import type { Fault } from "../../../transcript/format.ts";
import { isJsonText } from "../../content/call-arguments.ts";
import { findCommonFaults } from "../../faults/find-common-faults.ts";
import { faultAt, type WireBlock, type WireMessage, wireMessage } from "../../faults/wire-message.ts";
import { type ChatWire, messagesOf, readChatMessage } from "./read-message.ts";

/**
 * What a chat completions API would refuse in a request, or in its bare list of messages. Checks common-01 to
 * common-12 and openai-chat-28 to 32; what only some vendors ask is checked when the vendor or the model is known.
 */
export function findOpenAIChatFaults(wire: unknown, options: OpenAIChatFaultOptions = {}): readonly Fault[] {
  const messages = readOpenAIChatWire(wire);
  const vendor = options.vendor ?? vendorOfModel(modelOf(wire));
  return [
    ...findCommonFaults(messages),
    ...orderFaults(messages),
    ...argumentFaults(messages),
    ...(vendor === "openai" ? [] : resultContentFaults(messages)),
    ...reasoningFaults(wire, vendor),
    ...(vendor === "mistral" ? mistralFaults(messages) : []),
  ];
}

interface OpenAIChatFaultOptions {
  /** Read from the request's model when unset. */
  readonly vendor?: ChatVendor;
}

/** The model of a request; an empty text where none is named. */
export function modelOf(wire: unknown): string {
  return asString(asObject(wire).model) ?? "";
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
function* orderFaults(messages: readonly WireMessage[]): Generator<Fault> {
  let open = new Map<string, WireBlock>();
  function* missing(): Generator<Fault> {
    for (const [callId, call] of open)
      yield faultAt(
        "openai-chat-29",
        call,
        `call ${callId} is not answered before the next message: put its result there`,
      );
  }
  for (const { blocks } of messages) {
    const [result] = blocks.filter(isResult);
    if (result !== undefined) {
      const { callId = "" } = result;
      if (!open.delete(callId))
        yield faultAt(
          "openai-chat-28",
          result,
          `a result of ${callId}, which the message before did not call: move it behind its call or leave it out`,
        );
      continue;
    }
    yield* missing();
    open = new Map(blocks.filter(isCall).map((call) => [call.callId ?? "", call]));
  }
  yield* missing();
}

/** openai-chat-30: arguments are a text that parses as JSON. */
function* argumentFaults(messages: readonly WireMessage[]): Generator<Fault> {
  for (const call of messages.flatMap(({ blocks }) => blocks.filter(isCall))) {
    const { function: called } = asObject(call.wire);
    if (called !== undefined && !isJsonText(asObject(called).arguments))
      yield faultAt("openai-chat-30", call, "arguments that are no JSON text: write them as JSON");
  }
}

function isCall({ type }: WireBlock): boolean {
  return type === "call";
}

/** True for the message of a result; the older role "function" has no ids. */
function isResult({ type, wire }: WireBlock): boolean {
  return type === "result" && asObject(wire).role === "tool";
}

/** Whose chat completions API it is, as far as the rules differ: `strict` takes results as plain text only. */
export type ChatVendor = "openai" | "strict" | "mistral" | "reasoning-content";

/** The rest of openai-chat-30: some vendors take results as plain text only. */
function* resultContentFaults(messages: readonly WireMessage[]): Generator<Fault> {
  for (const result of messages.flatMap(({ blocks }) => blocks.filter(isResult)))
    if (typeof asObject(result.wire).content !== "string")
      yield faultAt("openai-chat-30", result, "a result that is no plain text: write it as one");
}

/** openai-chat-31: where one turn of the current tool loop has its reasoning, all have; some models want it in every turn with calls. */
function* reasoningFaults(wire: unknown, vendor: ChatVendor): Generator<Fault> {
  const messages = messagesOf(wire as ChatWire);
  const isWanted = isTurnToResend(messages, turnsToResend(modelOf(wire)));
  const wanted = [...messages.keys()].filter(isWanted);
  const without = wanted.filter((index) => typeof asObject(messages[index]).reasoning_content !== "string");
  if (vendor !== "reasoning-content" && without.length === wanted.length) return;
  for (const index of without)
    yield faultAt(
      "openai-chat-31",
      { messageId: `messages[${index}]` },
      "no reasoning_content in this turn: send it, even empty",
    );
}

/** openai-chat-32: ids of nine letters and digits, an answer between result and question, no answer at the end. */
function* mistralFaults(messages: readonly WireMessage[]): Generator<Fault> {
  for (const [index, message] of messages.entries()) {
    const { side, blocks } = message;
    const paired = blocks.filter((block) => isCall(block) || isResult(block));
    if (paired.some(({ callId = "" }) => !MISTRAL_ID.test(callId)))
      yield faultAt("openai-chat-32", message, "an id that is not nine letters and digits: rename it");
    const isQuestion = side === "user" && !blocks.some(isResult);
    if (isQuestion && messages[index - 1]?.blocks.some(isResult))
      yield faultAt("openai-chat-32", message, "a question right behind a result: put an answer between");
  }
  const last = messages.at(-1);
  if (last?.side === "assistant")
    yield faultAt("openai-chat-32", last, "the model has the last word: end with a user or a result");
}

const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/;

/** The messages of a chat completions request as the rules see them; total. */
export function readOpenAIChatWire(wire: unknown): readonly WireMessage[] {
  return messagesOf(wire as ChatWire).map((message, index) => {
    const read = readChatMessage(message);
    const contentStart = read.blocks.findIndex(({ value }) => value.in === "content");
    return wireMessage(read, `messages[${index}]`, (value, place) => {
      switch (value.in) {
        case "content": {
          const { block } = value;
          const refusal = block.type === "refusal" && { type: "text" as const, read: block.refusal };
          return { wire: block, partIndex: place - contentStart, ...refusal };
        }
        case "refusal":
          return { type: "text", read: value.wire, wire: value.wire };
        case "tool_calls":
          return { wire: value.call };
        case "result":
          return { wire: value.message };
        case "function_call":
          return { type: "other", wire: value.call };
        default:
          return { wire: value };
      }
    });
  });
}
