import { repairPairing } from "../stages/repair-pairing.ts";
import { applyEdits } from "../transcript/apply-edits.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Message } from "../transcript/message.ts";
import type { CallId, Part } from "../transcript/part.ts";
import { isVisibleToModel, project, reachesModel } from "../transcript/visibility.ts";

/** A message as it is sent, and what had to be repaired for that. */
export interface RepairedMessage {
  /** With its hidden parts, so that part indexes and cleared outputs can still be seen. */
  readonly marked: Message;
  /** What the model reads; undefined when nothing of it is sent. */
  readonly shown: Message | undefined;
  readonly edits: readonly Edit[];
  /** True when an earlier message has one of its calls as well. */
  readonly repeatsCalls: boolean;
}

/**
 * Repairs one message given the calls that stand before it: the same as `repairPairing` over all of them, without
 * walking them again. Does not look at who speaks first.
 */
export function repairMessage(message: Message, earlierCalls: ReadonlySet<CallId>): RepairedMessage {
  const repeated = message.parts.flatMap((part, partIndex): Edit[] =>
    isCall(part) && earlierCalls.has(part.callId)
      ? [
          {
            type: "hide-part",
            what: "part",
            messageId: message.id,
            partIndex,
            stage: "repair-pairing",
            reason: "duplicate-call",
          },
        ]
      : [],
  );
  if (repeated.length === 0) return repairAlone(message);
  const rest = repairAlone(applyEdits([message], repeated, { at: 0 })[0] ?? message);
  const edits = rest.shown === undefined ? rest.edits : [...repeated, ...rest.edits];
  return { ...rest, edits, repeatsCalls: true };
}

/** The calls of a message that reach the model. */
export function callsOf({ parts }: Message): readonly CallId[] {
  return parts.flatMap((part) => (isCall(part) ? [part.callId] : []));
}

/** Messages never change, so each is repaired once. */
const known = new WeakMap<Message, RepairedMessage>();

function repairAlone(message: Message): RepairedMessage {
  const before = known.get(message);
  if (before !== undefined) return before;
  // Whether it may come first is a matter of the whole transcript.
  const edits = repairPairing([message]).filter((edit) => edit.type !== "insert-message");
  const marked = applyEdits([message], edits, { at: 0 })[0] ?? message;
  const shown = isVisibleToModel(marked) ? project([marked])[0] : undefined;
  const repaired = { marked, shown, edits, repeatsCalls: false };
  known.set(message, repaired);
  return repaired;
}

function isCall(part: Part): part is Extract<Part, { type: "tool" }> {
  return part.type === "tool" && !part.callMissing && reachesModel(part);
}
