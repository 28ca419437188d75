import { callback, listOf, type Rule } from "../text/check.ts";
import type { Edit } from "../transcript/edit.ts";
import type { Transcript } from "../transcript/message.ts";

/**
 * A stage of your own, or one of `carryover/stages`: is given the messages that the model sees, those that wait for
 * results left out, and says what to change. It must not change them itself.
 */
export type SessionStage = (transcript: Transcript) => readonly Edit[] | Promise<readonly Edit[]>;

export const STAGES_RULE: Rule = listOf(callback);

/** The step as it is journalled. */
export const RUN_STAGE = "run-stage";

/** Which stages were called, and how they did. */
export interface StageMemory {
  /** The owner's messages that they were called for. */
  source: Transcript;
  /** The stage that comes next for those. */
  next: number;
  /** Stages of which a failure was told. */
  readonly told: Set<number>;
  /** How often in a row a stage took too long. */
  readonly hung: Map<number, number>;
  /** The window was edited by a stage since the last answer. */
  hasEdited: boolean;
}

/** What is known of stages that were never called. */
export function createStageMemory(): StageMemory {
  return { source: [], next: 0, told: new Set(), hung: new Map(), hasEdited: false };
}
