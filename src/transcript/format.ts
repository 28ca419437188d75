import { mapStrings } from "../text/map-strings.ts";
import { isMalformed, normalizeTypedText } from "../text/normalize.ts";
import { outcomeText } from "./content.ts";
import type { ApplyOptions, Edit } from "./edit.ts";
import {
  isVisibleToModel,
  type MessageId,
  opensWithProviderBlock,
  reachesModel,
  type Transcript,
} from "./message.ts";
import type { CallId, Part, ToolPart } from "./part.ts";

/**
 * A foreign way to write a conversation, as three functions that keep three laws: no edits, no change (the same
 * reference); editing the wire and decoding it equals decoding and editing; an edit brings no fault that was not there.
 */
export interface Format<Wire> {
  readonly name: string;
  /** Reads foreign messages. Total: what it does not understand becomes an opaque part. */
  decode(wire: Wire): Transcript;
  /** The foreign messages with the edits in them; what is hidden is left out. */
  apply(wire: Wire, edits: readonly Edit[], options: ApplyOptions): Wire;
  /** What the receiver of the wire would refuse. */
  faults(wire: Wire): readonly Fault[];
}

/** Something in what the model is sent that a provider would refuse. */
export interface Fault {
  readonly rule: FaultRule;
  /** In messages of a provider, the place instead: `messages[3]`. */
  readonly messageId: MessageId;
  /** Unset when it is about the whole message. */
  readonly partIndex?: number;
  readonly text: string;
}

export type FaultRule =
  | "first-message-is-user"
  | "call-without-result"
  | "result-without-call"
  | "call-id-repeated"
  | "empty-text"
  | "message-without-parts"
  | "malformed-text"
  | ProviderRule;

/** The rule that was broken: of one provider's interface, or of all. */
export type ProviderRule =
  `${"common" | "anthropic" | "openai-chat" | "openai-responses" | "gemini" | "ai-sdk"}-${number}`;

/** Everything in the visible transcript that breaks the pairing of calls and results, or a rule common to all providers. */
export function findFaults(transcript: Transcript): readonly Fault[] {
  const shown = transcript.filter(isVisibleToModel);
  const faults: Fault[] = [];
  const first = shown.find((message) => message.role !== "system");
  if (first !== undefined && first.role !== "user" && !opensWithProviderBlock(first)) {
    faults.push({
      rule: "first-message-is-user",
      messageId: first.id,
      text: `the first message is from ${first.role}`,
    });
  }
  const callIds = new Set<CallId>();
  for (const message of shown) {
    if (!message.parts.some(reachesModel)) {
      faults.push({
        rule: "message-without-parts",
        messageId: message.id,
        text: "nothing in it reaches the model",
      });
    }
    for (const [partIndex, part] of message.parts.entries()) {
      if (!reachesModel(part)) continue;
      for (const [rule, text] of partFaults(part, callIds))
        faults.push({ rule, messageId: message.id, partIndex, text });
    }
  }
  return faults;
}

/** Calls that a format had to rename because the messages use their id twice. */
export function findRenamedCalls(transcript: Transcript): readonly Fault[] {
  return transcript.flatMap(({ id: messageId, parts }) =>
    parts.flatMap((part, partIndex): readonly Fault[] =>
      part.type === "tool" && part.irregular
        ? [
            {
              rule: "call-id-repeated",
              messageId,
              partIndex,
              text: `the id of call ${part.callId} is there twice`,
            },
          ]
        : [],
    ),
  );
}

type Found = readonly [FaultRule, string];

function partFaults(part: Part, callIds: Set<CallId>): readonly Found[] {
  // Blocks made by the provider go back unchanged.
  if (part.providerBlock !== undefined) return [];
  if (part.type === "tool") return toolFaults(part, callIds);
  if (part.type !== "text") return [];
  if (part.text.trim() === "") return [["empty-text", "a text of nothing but blanks"]];
  return isMalformed(part.text) ? [MALFORMED] : [];
}

function toolFaults(part: ToolPart, callIds: Set<CallId>): readonly Found[] {
  if (part.callMissing) return [["result-without-call", `no call ${part.callId} stands before this result`]];
  const { outcome } = part;
  const found: Found[] = [];
  if (callIds.has(part.callId)) found.push(["call-id-repeated", `call ${part.callId} is there twice`]);
  callIds.add(part.callId);
  if (outcome.status === "pending") found.push(["call-without-result", `call ${part.callId} has no result`]);
  const text = outcomeText(outcome);
  const isInputMalformed = mapStrings(part.input, normalizeTypedText) !== part.input;
  if (isMalformed(text) || isInputMalformed) found.push(MALFORMED);
  return found;
}

const MALFORMED: Found = ["malformed-text", "lone surrogates or control characters"];
