import { gone, limitFrom, numberFrom, objectOf, oneOf, optionsCheck, required } from "../../text/check.ts";
import type { Edit, Stage } from "../../transcript/edit.ts";
import type { Transcript } from "../../transcript/message.ts";
import { compactionBoundary as boundaryOf } from "../boundary.ts";
import { charBudget as budgetOf } from "../char-budget.ts";
import { keepLines as keepLinesOf } from "../lines/keep-lines.ts";
import { repairPairing as repairsOf } from "../repair.ts";
import { supersede as supersedeOf } from "../supersede.ts";
import { TIER_LIMITS_SHAPE, type TierLimits, graduatedTiers as tiersOf } from "../tiers.ts";

// The public stages of `carryover/stages`. They check their options and offer only those that users set.

/** Hides what the newest completed compaction has summarized. What is left is the summary, its tail, and everything newer. */
export function compactionBoundary(options: CompactionBoundaryOptions): Stage {
  checkBoundary(options);
  return boundaryOf(options);
}

/** Where the window begins. */
export interface CompactionBoundaryOptions {
  /** `marker`: the compaction marker stays in front, as hosts send it. @from documents 000 to 002, document 003 */
  readonly from: "summary" | "marker";
}

/** Hides the oldest messages until the rendered rest fits; summaries and the newest message stay, shortened where they alone are too long. */
export function charBudget(options: CharBudgetOptions): Stage {
  checkBudget(options);
  return budgetOf(options);
}

/** How much may stay. */
export interface CharBudgetOptions {
  /** Most characters (UTF-16 units) of the rendered messages; at least 512. @from documents 000 to 002 */
  readonly maxChars: number;
}

/** Prunes old work by line: the newest results and the words of users stay whole, older outputs keep their best lines. */
export function keepLines(options: KeepLinesOptions): Stage {
  checkLines(options);
  return keepLinesOf(options);
}

/** How much of old work stays. */
export interface KeepLinesOptions {
  /** How many characters of the rendered window to keep. @from decision 0022 */
  readonly keepChars: number;
}

/** Cuts tool results and their inputs by age, in three tiers: the newest results stay whole, older ones keep less. */
export function graduatedTiers(options: GraduatedTiersOptions): Stage {
  checkTiers(options);
  return tiersOf(options);
}

/** How much of a result stays, by age. */
export interface GraduatedTiersOptions {
  /** How many results are in each tier, and what each keeps. @from documents 000 to 002 */
  readonly limits: TierLimits;
}

/** Replaces results that newer ones make obsolete by a line that names the newer one; the newest two turns stay. */
export function supersede(options?: Readonly<Record<never, never>>): Stage {
  checkSupersede(options);
  return supersedeOf();
}

/** Gives each call a result, and leaves out results without a call, as providers want it. */
export function repairPairing(messages: Transcript, options: RepairPairingOptions = {}): readonly Edit[] {
  checkRepair(options);
  return repairsOf(messages, options);
}

/** What the messages are for. */
export interface RepairPairingOptions {
  /** A request has to end with a user message; a stored conversation may end with an answer. @default any */
  readonly lastMessage?: "any" | "user";
}

const checkBoundary = optionsCheck({
  ...gone({ system: "leave it out: system messages before the boundary are hidden" }),
  from: required(oneOf("summary", "marker")),
});
const checkBudget = optionsCheck({
  ...gone({
    frameChars: "give less maxChars",
    render: "leave it out: messages are rendered by renderMessage",
  }),
  maxChars: required(limitFrom(512)),
});
const STAY = "leave it out: the newest ten results stay, and those of skill and question";
const checkLines = optionsCheck({
  ...gone({ protectResults: STAY, protectChars: STAY, protectTurns: STAY, protectedTools: STAY }),
  keepChars: required(numberFrom(0)),
});
const checkTiers = optionsCheck({
  ...gone({ neverCutTools: "leave it out: results of ask_user_questions, question and skill are never cut" }),
  limits: required(objectOf(TIER_LIMITS_SHAPE)),
});
const checkSupersede = optionsCheck(
  gone({
    protectTurns: "leave it out: the newest two turns stay",
    protectedTools: "leave it out: results of skill stay",
  }),
);
const checkRepair = optionsCheck({
  ...gone({
    missingResult: "leave it out: a call without a result gets a short one",
    orphanResult: "leave it out: a result without a call is left out",
  }),
  lastMessage: oneOf("any", "user"),
});
