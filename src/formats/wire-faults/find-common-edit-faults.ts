import { safeJson } from "../../text/safe-json.ts";
import type { Fault } from "../../transcript/find-faults.ts";
import { someString } from "./some-string.ts";
import { faultAt, type WireMessage } from "./wire-message.ts";

/** What an edit is held to beyond what it must always keep. */
export interface EditExpectation {
  /** common-15: the edit was made to save room. */
  readonly size?: "not-larger";
  /** common-17: the newest request of the user is still there, word for word. */
  readonly newestRequest?: "verbatim";
  /** common-18: so many messages stand before the first edit and may not change by a byte. */
  readonly unchangedMessages?: number;
}

/** Rules common-15, common-17 and common-18 on a wire before and after an edit, as far as they are expected of it. */
export function findCommonEditFaults(
  before: readonly WireMessage[],
  after: readonly WireMessage[],
  { size, newestRequest, unchangedMessages = 0 }: EditExpectation = {},
): readonly Fault[] {
  const faults: Fault[] = [];
  const [charsBefore, charsAfter] = [charsOf(before), charsOf(after)];
  if (size === "not-larger" && charsAfter > charsBefore)
    faults.push(
      faultAt(
        "common-15",
        { messageId: "" },
        `${charsBefore} chars became ${charsAfter}: take the edit back`,
      ),
    );
  const request = newestRequest === "verbatim" ? newestRequestOf(before) : undefined;
  if (request !== undefined && !textsOf(after).some((text) => text.includes(request)))
    faults.push(
      faultAt("common-17", { messageId: "" }, "the newest request is gone or changed: keep it whole"),
    );
  for (const [index, message] of before.slice(0, unchangedMessages).entries()) {
    const same = after[index];
    if (same !== undefined && safeJson(wireOf(same)) === safeJson(wireOf(message))) continue;
    faults.push(faultAt("common-18", message, "it stands before the first edit and changed: leave it alone"));
    break;
  }
  return faults;
}

function wireOf({ side, blocks }: WireMessage): unknown {
  return [side, blocks.map((block) => block.wire)];
}

function charsOf(messages: readonly WireMessage[]): number {
  let chars = 0;
  for (const { blocks } of messages) {
    for (const block of blocks) {
      someString(block.read, (text) => {
        chars += text.length;
        return false;
      });
    }
  }
  return chars;
}

function textsOf(messages: readonly WireMessage[]): readonly string[] {
  return messages.flatMap((message) =>
    message.side === "user"
      ? message.blocks.flatMap(({ type, read }) =>
          type === "text" && typeof read === "string" ? [read] : [],
        )
      : [],
  );
}

function newestRequestOf(messages: readonly WireMessage[]): string | undefined {
  return textsOf(messages).findLast((text) => text.trim() !== "");
}
