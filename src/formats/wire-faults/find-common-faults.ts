import { isMalformed } from "../../transcript/clean-text.ts";
import type { Fault } from "../../transcript/find-faults.ts";
import { findPairingFaults } from "./find-pairing-faults.ts";
import { someString } from "./some-string.ts";
import { faultAt, type WireBlock, type WireMessage } from "./wire-message.ts";

/** What every provider refuses, on a wire reduced to its blocks: rules common-01 to common-12. */
export function findCommonFaults(messages: readonly WireMessage[]): readonly Fault[] {
  return [...findPairingFaults(messages), ...endFaults(messages), ...messages.flatMap(messageFaults)];
}

/** The two ends of a request: common-08 and common-09. */
function endFaults(messages: readonly WireMessage[]): readonly Fault[] {
  const faults: Fault[] = [];
  const first = messages.find((message) => message.side !== "system");
  const last = messages.findLast((message) => message.side !== "system");
  if (first === undefined || last === undefined) {
    return [faultAt("common-08", { messageId: "" }, "there is no message: send at least a user's text")];
  }
  if (first.side === "assistant")
    faults.push(faultAt("common-09", first, "the first message is the model's: put a user's text before it"));
  if (last.side === "assistant")
    faults.push(faultAt("common-08", last, "the last message is the model's: end with a user's text"));
  return faults;
}

function messageFaults(message: WireMessage): readonly Fault[] {
  const faults: Fault[] = [];
  if (message.isCutOff)
    faults.push(faultAt("common-07", message, "this turn was broken off: leave it out with its results"));
  if (message.blocks.length === 0)
    faults.push(faultAt("common-10", message, "nothing is in this message: leave it out"));
  for (const block of message.blocks) pushBlockFaults(faults, block);
  return faults;
}

function pushBlockFaults(faults: Fault[], block: WireBlock): void {
  const { type, read, wire } = block;
  if (type === "text" && typeof read === "string" && read.trim() === "")
    faults.push(faultAt("common-10", block, "a text of nothing but blanks: leave it out"));
  // Arguments in a JSON text hide half a pair behind an escape: what is read counts too.
  if (someString(wire, isIllFormed) || someString(read, isIllFormed))
    faults.push(faultAt("common-11", block, "half of a surrogate pair: replace it by U+FFFD"));
  if (someString(read, hasControls))
    faults.push(faultAt("common-12", block, "control characters in text for the model: take them out"));
}

function hasControls(text: string): boolean {
  return isMalformed(text) && isMalformed(text.toWellFormed());
}

function isIllFormed(text: string): boolean {
  return !text.isWellFormed();
}
