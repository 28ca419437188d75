import type { ProviderRule } from "../../src/transcript/format.ts";

/** One rule that a history must keep to be taken by a provider, and where it is checked. */
export interface ProviderRuleEntry {
  readonly rule: ProviderRule;
  /**
   * `wire`: by `find…Faults` on any wire. `edit`: by `find…EditFaults`, on a wire before and after an edit.
   * `run`: only running a transformation shows it, so the fuzz does.
   */
  readonly checkedOn: "wire" | "edit" | "run";
  readonly text: string;
}

/** All 46 rules, in the order of their numbers. */
export const PROVIDER_RULES: readonly ProviderRuleEntry[] = [
  { rule: "common-01", checkedOn: "wire", text: "a result has its call before it" },
  { rule: "common-02", checkedOn: "wire", text: "the results of one turn stand together" },
  { rule: "common-03", checkedOn: "wire", text: "nothing stands between a call and its result" },
  { rule: "common-04", checkedOn: "wire", text: "each call has its own id and one result" },
  { rule: "common-05", checkedOn: "wire", text: "no result comes first" },
  { rule: "common-06", checkedOn: "wire", text: "an interrupted call has a result that says so" },
  { rule: "common-07", checkedOn: "wire", text: "turns that were broken off are left out" },
  { rule: "common-08", checkedOn: "wire", text: "there is a message, and the last one is not the model's" },
  { rule: "common-09", checkedOn: "wire", text: "the first message is the user's" },
  { rule: "common-10", checkedOn: "wire", text: "no text is blank, no message empty" },
  { rule: "common-11", checkedOn: "wire", text: "every text is well-formed" },
  { rule: "common-12", checkedOn: "wire", text: "no control characters reach the model" },
  { rule: "common-13", checkedOn: "run", text: "doing it again changes nothing" },
  { rule: "common-14", checkedOn: "run", text: "the same input gives the same bytes" },
  { rule: "common-15", checkedOn: "edit", text: "what was to save room does not take more" },
  { rule: "common-16", checkedOn: "run", text: "the input is not written to" },
  { rule: "common-17", checkedOn: "edit", text: "the newest request stays word for word" },
  { rule: "common-18", checkedOn: "edit", text: "what stands before the first edit does not change" },
  { rule: "anthropic-19", checkedOn: "wire", text: "a turn's results are in one message, in front" },
  { rule: "anthropic-20", checkedOn: "wire", text: "call ids are 1 to 64 letters, digits, _ and -" },
  { rule: "anthropic-21", checkedOn: "edit", text: "thinking is sent as it came" },
  { rule: "anthropic-22", checkedOn: "wire", text: "in an open tool loop, thinking comes first" },
  {
    rule: "anthropic-23",
    checkedOn: "wire",
    text: "at most four cache marks, none on thinking or a blank text",
  },
  { rule: "anthropic-24", checkedOn: "wire", text: "no thinking that another model signed" },
  { rule: "anthropic-25", checkedOn: "wire", text: "requests and images have a largest size" },
  { rule: "anthropic-26", checkedOn: "wire", text: "the model does not have the last word" },
  { rule: "anthropic-27", checkedOn: "wire", text: "user and assistant take turns" },
  { rule: "openai-chat-28", checkedOn: "wire", text: "a tool message follows the message that called" },
  { rule: "openai-chat-29", checkedOn: "wire", text: "all calls are answered before the next message" },
  {
    rule: "openai-chat-30",
    checkedOn: "wire",
    text: "arguments are JSON, and results text where a vendor is strict",
  },
  {
    rule: "openai-chat-31",
    checkedOn: "wire",
    text: "reasoning_content is on every turn of a tool loop or on none",
  },
  { rule: "openai-chat-32", checkedOn: "wire", text: "Mistral's ids and order" },
  { rule: "openai-responses-33", checkedOn: "wire", text: "calls and outputs come in pairs" },
  { rule: "openai-responses-34", checkedOn: "wire", text: "behind reasoning stands what came of it" },
  { rule: "openai-responses-35", checkedOn: "edit", text: "no item keeps its id when its reasoning is gone" },
  { rule: "openai-responses-36", checkedOn: "wire", text: "what is not stored is sent whole" },
  { rule: "openai-responses-37", checkedOn: "edit", text: "encrypted content is sent as it came" },
  { rule: "openai-responses-38", checkedOn: "wire", text: "call ids are short, item ids unique" },
  { rule: "openai-responses-39", checkedOn: "wire", text: "nothing stands before a compaction item" },
  { rule: "gemini-40", checkedOn: "wire", text: "as many responses as calls, in the next content" },
  { rule: "gemini-41", checkedOn: "wire", text: "calls come right behind the user or a response" },
  { rule: "gemini-42", checkedOn: "wire", text: "two roles, the user first and last, no empty content" },
  { rule: "gemini-43", checkedOn: "wire", text: "the first call of a step is signed, its siblings are not" },
  { rule: "gemini-44", checkedOn: "edit", text: "a signature stays on its part" },
  { rule: "gemini-45", checkedOn: "wire", text: "a summariser gets no media in responses" },
  { rule: "gemini-46", checkedOn: "edit", text: "no text of ours inside a tool loop" },
];
