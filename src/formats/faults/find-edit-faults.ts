import { safeJson } from "../../text/json.ts";
import type { Fault, ProviderRule } from "../../transcript/format.ts";
import { faultAt, someString, type WireMessage, type WirePlace } from "./wire-message.ts";

/** What is expected of an edit beyond the rules that always hold. */
export interface EditExpectation {
  /** common-15: the edit was made to save room. */
  readonly size?: "not-larger";
  /** common-17: the newest request of the user is still there, word for word. */
  readonly newestRequest?: "verbatim";
  /** common-18: the number of messages before the first edit, which may not change by a byte. */
  readonly unchangedMessages?: number;
}

/** Rules common-15, common-17 and common-18 on a wire before and after an edit, as far as they are expected of it. */
export function* findCommonEditFaults(
  before: readonly WireMessage[],
  after: readonly WireMessage[],
  { size, newestRequest, unchangedMessages = 0 }: EditExpectation = {},
): Generator<Fault> {
  const [charsBefore, charsAfter] = [charsOf(before), charsOf(after)];
  if (size === "not-larger" && charsAfter > charsBefore)
    yield faultAt(
      "common-15",
      { messageId: "" },
      `${charsBefore} chars became ${charsAfter}: take the edit back`,
    );
  const request = newestRequest === "verbatim" ? newestRequestOf(before) : undefined;
  if (request !== undefined && !textsOf(after).some((text) => text.includes(request)))
    yield faultAt("common-17", { messageId: "" }, "the newest request is gone or changed: keep it whole");
  for (const [index, message] of before.slice(0, unchangedMessages).entries()) {
    const same = after[index];
    if (same !== undefined && safeJson(wireOf(same)) === safeJson(wireOf(message))) continue;
    yield faultAt("common-18", message, "it stands before the first edit and changed: leave it alone");
    break;
  }
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

/** A piece of a wire that its provider has signed or encrypted: it is sent as it came, or not at all. */
export interface SignedContent extends WirePlace {
  readonly signature: string;
  /** Everything that the signature covers. */
  readonly wire: unknown;
}

interface SignedContentEdit {
  readonly rule: ProviderRule;
  readonly before: readonly SignedContent[];
  readonly after: readonly SignedContent[];
}

/** Signed content that an edit has changed, invented or reordered within its message. */
export function* findSignedContentFaults({ rule, before, after }: SignedContentEdit): Generator<Fault> {
  const known = new Map<string, Map<string, Origin>>();
  for (const [index, { signature, wire, messageId }] of before.entries()) {
    const shapes = known.get(signature) ?? new Map<string, Origin>();
    known.set(signature, shapes);
    const shape = safeJson(wire);
    if (!shapes.has(shape)) shapes.set(shape, { messageId, index });
  }
  let last: Origin | undefined;
  for (const signed of after) {
    const shapes = known.get(signed.signature);
    const origin = shapes?.get(safeJson(signed.wire));
    if (shapes === undefined)
      yield faultAt(rule, signed, "a signature that nothing had before: leave it out");
    else if (origin === undefined)
      yield faultAt(rule, signed, "signed content was changed: send it as it came");
    else if (last?.messageId === origin.messageId && origin.index < last.index)
      yield faultAt(rule, signed, "signed content changed places: keep its order");
    last = origin ?? last;
  }
}

/** Where signed content was: within one message it must keep its order; a message may move. */
interface Origin {
  readonly messageId: string;
  readonly index: number;
}
