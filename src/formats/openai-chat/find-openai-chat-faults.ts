import type { Fault } from "../../transcript/find-faults.ts";
import { type Fields, fields, stringField } from "../fields.ts";
import { findCommonFaults } from "../wire-faults/find-common-faults.ts";
import { wireList } from "../wire-faults/wire-list.ts";
import { faultAt } from "../wire-faults/wire-message.ts";
import { type ChatVendor, findChatVendorFaults } from "./find-chat-vendor-faults.ts";
import { readOpenAIChatWire } from "./read-openai-chat-wire.ts";

/**
 * What a chat completions API would refuse in a request, or in its bare list of messages. Checks common-01 to
 * common-12 and openai-chat-28 to 32; what only some vendors ask is checked when the vendor or the model is known.
 */
export function findOpenAIChatFaults(wire: unknown, options: OpenAIChatFaultOptions = {}): readonly Fault[] {
  const messages = wireList(wire, "messages").map(fields);
  const vendor = options.vendor ?? vendorOfModel(stringField(fields(wire).model) ?? "");
  return [
    ...findCommonFaults(readOpenAIChatWire(wire)),
    ...orderFaults(messages),
    ...argumentFaults(messages),
    ...findChatVendorFaults(messages, vendor),
  ];
}

export interface OpenAIChatFaultOptions {
  /** Read from the request's model when unset. */
  readonly vendor?: ChatVendor;
}

/** Whose API a model is asked through, as far as its name tells. */
export function vendorOfModel(model: string): ChatVendor {
  if (/(?:^|\/)(?:mistral|ministral|magistral|codestral|devstral|pixtral)/i.test(model)) return "mistral";
  return /(?:^|\/)(?:deepseek|kimi|glm)/i.test(model) ? "reasoning-content" : "openai";
}

/** openai-chat-28 and openai-chat-29: results stand right behind the message that called, and none is missing there. */
function orderFaults(messages: readonly Fields[]): readonly Fault[] {
  const faults: Fault[] = [];
  let open = new Set<string>();
  let opener = -1;
  const close = () => {
    for (const callId of open)
      faults.push(
        faultAt(
          "openai-chat-29",
          { messageId: `messages[${opener}]` },
          `call ${callId} is not answered before the next message: put its result there`,
        ),
      );
    open = new Set();
  };
  for (const [index, { role, tool_calls: calls, tool_call_id: resultOf }] of messages.entries()) {
    if (role === "tool") {
      const callId = stringField(resultOf) ?? "";
      if (!open.delete(callId))
        faults.push(
          faultAt(
            "openai-chat-28",
            { messageId: `messages[${index}]` },
            `a result of ${callId}, which the message before did not call: move it behind its call or leave it out`,
          ),
        );
      continue;
    }
    close();
    if (!Array.isArray(calls)) continue;
    opener = index;
    open = new Set(calls.map((call) => stringField(fields(call).id) ?? ""));
  }
  close();
  return faults;
}

/** openai-chat-30: arguments are a text that parses as JSON. */
function argumentFaults(messages: readonly Fields[]): readonly Fault[] {
  return messages.flatMap(({ tool_calls: calls }, index) =>
    (Array.isArray(calls) ? calls : [])
      .map((call) => fields(call).function)
      .filter((called) => called !== undefined && !isJson(fields(called).arguments))
      .map(() =>
        faultAt(
          "openai-chat-30",
          { messageId: `messages[${index}]` },
          "arguments that are no JSON text: write them as JSON",
        ),
      ),
  );
}

/** True for a text that parses as JSON. */
export function isJson(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
