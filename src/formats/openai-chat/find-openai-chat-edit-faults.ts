import type { Fault } from "../../transcript/find-faults.ts";
import { type EditExpectation, findCommonEditFaults } from "../wire-faults/find-common-edit-faults.ts";
import { readOpenAIChatWire } from "./read-openai-chat-wire.ts";

/** What an edit broke between a chat completions wire before and after it: nothing in it is sealed, so only what is expected of the edit. */
export function findOpenAIChatEditFaults(
  before: unknown,
  after: unknown,
  expected: EditExpectation = {},
): readonly Fault[] {
  return findCommonEditFaults(readOpenAIChatWire(before), readOpenAIChatWire(after), expected);
}
