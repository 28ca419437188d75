import type { Fault } from "../../transcript/find-faults.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { faultAt, type WirePlace } from "../wire-faults/wire-message.ts";

/** Whose chat completions API it is, as far as the rules differ: `strict` takes results as plain text only. */
export type ChatVendor = "openai" | "strict" | "mistral" | "reasoning-content";

/** What only some vendors of a chat completions API refuse: the rest of openai-chat-30, openai-chat-31 and 32. */
export function findChatVendorFaults(messages: readonly Fields[], vendor: ChatVendor): readonly Fault[] {
  return [
    ...(vendor === "openai" ? [] : resultContentFaults(messages)),
    ...reasoningFaults(messages, vendor),
    ...(vendor === "mistral" ? mistralFaults(messages) : []),
  ];
}

const placeOf = (index: number): WirePlace => ({ messageId: `messages[${index}]` });

function resultContentFaults(messages: readonly Fields[]): readonly Fault[] {
  return messages.flatMap(({ role, content }, index) =>
    role === "tool" && typeof content !== "string"
      ? [faultAt("openai-chat-30", placeOf(index), "a result that is no plain text: write it as one")]
      : [],
  );
}

/** openai-chat-31: where one turn of the current tool loop tells its reasoning, all do. */
function reasoningFaults(messages: readonly Fields[], vendor: ChatVendor): readonly Fault[] {
  const start = messages.findLastIndex((message) => message.role === "user");
  const turns = [...messages.entries()].filter(([index, { role }]) => index > start && role === "assistant");
  const isTold = (message: Fields) => typeof message.reasoning_content === "string";
  const mustTell = vendor === "reasoning-content" || turns.some(([, message]) => isTold(message));
  return mustTell
    ? turns
        .filter(([, message]) => !isTold(message))
        .map(([index]) =>
          faultAt(
            "openai-chat-31",
            placeOf(index),
            "no reasoning_content in this tool loop: send it, even empty",
          ),
        )
    : [];
}

/** openai-chat-32: ids of nine letters and digits, an answer between result and question, no answer at the end. */
function mistralFaults(messages: readonly Fields[]): readonly Fault[] {
  const faults: Fault[] = [];
  for (const [index, { role, tool_calls: calls, tool_call_id: resultOf }] of messages.entries()) {
    const ids =
      role === "tool" ? [resultOf] : Array.isArray(calls) ? calls.map((call) => fields(call).id) : [];
    if (ids.some((id) => !MISTRAL_ID.test(stringField(id) ?? "")))
      faults.push(
        faultAt("openai-chat-32", placeOf(index), "an id that is not nine letters and digits: rename it"),
      );
    if (role === "user" && messages[index - 1]?.role === "tool")
      faults.push(
        faultAt("openai-chat-32", placeOf(index), "a question right behind a result: put an answer between"),
      );
  }
  const last = messages.length - 1;
  if (messages[last]?.role === "assistant")
    faults.push(
      faultAt("openai-chat-32", placeOf(last), "the model has the last word: end with a user or a result"),
    );
  return faults;
}

const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/;
