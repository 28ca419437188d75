import { createLruMap } from "../../text/lru-map.ts";
import type { MessageError, ModelRef, Usage } from "../../transcript/message.ts";

/** What the events of the host said about the answers of the model. */
export interface AnswerFacts {
  of(messageId: string): AnswerFact | undefined;
  /** Adds to what is known of an answer. */
  learn(messageId: string, fact: AnswerFact): void;
}

interface AnswerFact {
  readonly agent?: string;
  readonly model?: ModelRef;
  readonly variant?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly finish?: string;
  readonly usage?: Usage;
  readonly error?: MessageError;
}

export function createAnswerFacts(): AnswerFacts {
  const known = createLruMap<string, AnswerFact>(MAX_ANSWERS);
  return {
    of: known.get,
    learn: (messageId, fact) => known.set(messageId, { ...known.get(messageId), ...fact }),
  };
}

const MAX_ANSWERS = 16_384;
