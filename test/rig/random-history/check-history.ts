import fc from "fast-check";
import { dropMedia, summarizeOlder } from "../../../src/compaction/recover.ts";
import {
  compactToolResultsInRecent,
  toolSummaryEdits,
} from "../../../src/compaction/tool-summaries/edits.ts";
import {
  completeToolSummarySettings,
  planToolSummaries,
} from "../../../src/compaction/tool-summaries/plan-tool-summaries.ts";
import { omitForChild } from "../../../src/fork/context/omit-for-child.ts";
import { charBudget } from "../../../src/stages/char-budget.ts";
import { keepLines } from "../../../src/stages/lines/keep-lines.ts";
import { pruneStage } from "../../../src/stages/prune.ts";
import { redactTranscript } from "../../../src/stages/redact.ts";
import { repairPairing } from "../../../src/stages/repair.ts";
import { supersede } from "../../../src/stages/supersede.ts";
import { graduatedTiers } from "../../../src/stages/tiers.ts";
import { asObject } from "../../../src/text/unknown-value.ts";
import { toolResults } from "../../../src/transcript/content.ts";
import { applyEdits, type Edit, runStages, type Stage } from "../../../src/transcript/edit.ts";
import type { Fault, Format } from "../../../src/transcript/format.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../../src/transcript/message.ts";
import type { EditExpectation } from "../edit-faults.ts";
import { deepFreeze } from "../notation.ts";
import { createSeededRandom, type History, type SeededRandom } from "./history.ts";
import type { ProviderCase } from "./provider-cases.ts";
import { randomHistory } from "./random-history.ts";
import { signThoughts } from "./sign-thoughts.ts";

/** A history with up to four stages to run on it. */
export function randomCheck(): fc.Arbitrary<HistoryCheck> {
  return fc.record({
    history: randomHistory(),
    stages: fc.array(fc.nat(RANDOM_STAGES.length - 1), { maxLength: 4 }),
    seed: fc.nat(999_999),
  });
}

export interface HistoryCheck {
  readonly history: History;
  /** Which stages run, and on which seed those among them that roll dice. */
  readonly stages: readonly number[];
  readonly seed: number;
}

/** What went wrong with one wire; `wire` is what was given, `after` what came out. */
export interface HistoryProblem {
  readonly law: string;
  readonly stages: readonly string[];
  readonly faults: readonly Fault[];
  readonly wire: unknown;
  readonly after: unknown;
}

/** The first law that is broken when some stages edit the wire of a history, or undefined: no new faults, none after repair, same bytes twice, nothing left to repair. */
export function checkHistory(
  { history, stages, seed }: HistoryCheck,
  { format, lower, bindsThoughts, findEditFaults }: ProviderCase,
): HistoryProblem | undefined {
  const chosen = stages.map((number) => RANDOM_STAGES[number % RANDOM_STAGES.length] as RandomStage);
  const lowered = lower(history);
  const signed = bindsThoughts && signThoughts(asObject(lowered), { format, repair });
  const wire = deepFreeze(signed?.wire ?? lowered);
  const problem = (law: string, faults: readonly Fault[], after: unknown): HistoryProblem => ({
    law,
    stages: chosen.map(({ name }) => name),
    faults,
    wire,
    after,
  });
  const run = () => {
    const transcript: Transcript = deepFreeze(format.decode(wire));
    const { edits, transcript: after } = runStages(
      transcript,
      chosen.map(({ stage }) => stage(seed)),
      AT,
    );
    const edited = format.apply(wire, deepFreeze(edits), AT);
    const repairs = repair(after);
    const stale = signed?.hideStale(applyEdits(after, repairs, AT)) ?? [];
    return { edits, edited, repaired: format.apply(wire, [...edits, ...repairs, ...stale], AT) };
  };

  const { edits, edited, repaired } = run();
  const refused = signed?.findRefusal(repaired);
  if (refused !== undefined) return problem(`no thought is sent behind an edit: ${refused}`, [], repaired);
  const isWild = chosen.some((stage) => stage.isWild);
  const mayEnd = isWild || chosen.some((stage) => stage.mayEmpty);
  const given = format.faults(wire);
  // What is loose already may be loose in more than one way once its neighbours are gone, and a call without a result
  // that shared the id of one with a result is seen when it has a name of its own.
  const isLoose = isWild && given.some((fault) => PAIRING.includes(fault.rule));
  const allowed = [...(mayEnd ? ENDS : FIRST), ...(isLoose || repeatsCallIds(history) ? PAIRING : [])];
  const brought = newFaults(given, format.faults(edited), allowed);
  if (brought.length > 0) return problem("an edit brings no fault", brought, edited);
  const expected: EditExpectation = {
    ...(chosen.every((stage) => stage.saves) && { size: "not-larger" }),
    ...(chosen.every((stage) => stage.keepsRequest) && { newestRequest: "verbatim" }),
  };
  const broken = findEditFaults(wire, edited, expected);
  const told = isWild ? broken.filter((fault) => fault.rule !== "gemini-46") : broken;
  if (told.length > 0) return problem("an edit keeps what it must not touch", told, edited);
  // A wire with faults is mended by the way, wherever they are.
  const hasPrefix = given.length === 0 && seed % CHECK_PREFIX_EVERY === 0;
  if (hasPrefix && !isPrefixKept({ format, wire, edited, edits }))
    return problem("what stands before the first edit does not change", [], edited);

  const left = format.faults(repaired);
  if (left.length > 0) return problem("repair leaves no fault", left, repaired);
  if (seed % RUN_TWICE_EVERY === 0 && JSON.stringify(run()) !== JSON.stringify({ edits, edited, repaired }))
    return problem("the same input gives the same bytes", [], repaired);
  if (repair(format.decode(repaired)).length > 0)
    return problem("repairing again does nothing", [], repaired);
  return undefined;
}

function repeatsCallIds({ steps }: History): boolean {
  const ids = steps.flatMap((step) => (step.type === "model" ? step.calls.map(({ id }) => id) : []));
  return new Set(ids).size < ids.length;
}

/** Running twice costs twice: every fourth shows whether chance or order got in. */
const RUN_TWICE_EVERY = 4;
const CHECK_PREFIX_EVERY = 8;
const AT = { at: 1_700_000_000_000 };
const repair: Stage = (transcript) => repairPairing(transcript, { lastMessage: "user" });

/** Only the repair can put a question before an answer that a cut has left in front. */
const FIRST: readonly string[] = ["common-09", "gemini-41", "gemini-42"];
/** Some edits may take the question away that was asked last, too. */
const ENDS: readonly string[] = [...FIRST, "common-08", "anthropic-26"];

function newFaults(
  before: readonly Fault[],
  after: readonly Fault[],
  allowed: readonly string[],
): readonly Fault[] {
  const counts = new Map<string, number>();
  for (const { rule } of before) counts.set(kindOf(rule), (counts.get(kindOf(rule)) ?? 0) + 1);
  return after.filter(({ rule }) => {
    const left = (counts.get(kindOf(rule)) ?? 0) - 1;
    counts.set(kindOf(rule), left);
    return left < 0 && !allowed.includes(rule);
  });
}

interface PrefixCheck {
  readonly format: Format<unknown>;
  readonly wire: unknown;
  readonly edited: unknown;
  readonly edits: readonly Edit[];
}

/** common-18: the wire messages that alone give the transcript before the first edit are the same, byte for byte. */
function isPrefixKept({ format, wire, edited, edits }: PrefixCheck): boolean {
  const transcript = format.decode(wire);
  const indexes = new Map(transcript.map((message, index) => [message.id, index]));
  const systems = transcript.findIndex((message) => message.role !== "system");
  const first = Math.min(...edits.map((edit) => firstTouched(edit, indexes))) - Math.max(0, systems);
  const messages = listOf(wire);
  // An edit may make its message one with the message before: that one is left out of the comparison.
  let kept = 0;
  while (kept < messages.length && format.decode(messages.slice(0, kept + 1)).length < first) kept++;
  const start = JSON.stringify(messages.slice(0, kept));
  return JSON.stringify(listOf(edited).slice(0, kept)) === start;
}

function firstTouched(edit: Edit, indexes: ReadonlyMap<string, number>): number {
  const after = "after" in edit && edit.after !== null ? (indexes.get(edit.after) ?? 0) + 1 : 0;
  if (edit.type === "insert-message") return after;
  const own = indexes.get(edit.messageId) ?? 0;
  return edit.type === "move-message" ? Math.min(own, after) : own;
}

function listOf(wire: unknown): readonly unknown[] {
  const { messages, input, contents } = wire as Readonly<Record<string, readonly unknown[] | undefined>>;
  return messages ?? input ?? contents ?? [];
}

/** A result that is one too many breaks another rule when its call is hidden: what is loose stays loose. */
function kindOf(rule: string): string {
  return PAIRING.includes(rule) ? "pairing" : rule;
}

const PAIRING: readonly string[] = [
  ...["common-01", "common-02", "common-03", "common-04", "common-05", "common-06"],
  ...["anthropic-19", "openai-chat-28", "openai-chat-29", "openai-responses-33", "gemini-40"],
];

/** A stage to try on a random history. */
export interface RandomStage {
  readonly name: string;
  readonly stage: (seed: number) => Stage;
  /** Set for edits that no policy would make of such histories: they may take the first or last message away, or speak into a tool loop. */
  readonly isWild?: true;
  /** Set for edits that hold a limit even where the newest message alone is over it. */
  readonly mayEmpty?: true;
  /** Set for edits that leave what the user has typed alone. */
  readonly keepsRequest?: true;
  /** Set for edits that never take more room than they save. */
  readonly saves?: true;
}

/** Everything of ours that edits a transcript, with limits so small that short histories feel it, and edits at random. */
export const RANDOM_STAGES: readonly RandomStage[] = [
  {
    name: "prune",
    keepsRequest: true,
    stage: () => pruneStage({ protectTokens: 0, minimumTokens: 0, protectTurns: 1 }),
  },
  { name: "supersede", keepsRequest: true, saves: true, stage: () => supersede({ protectTurns: 1 }) },
  {
    name: "tiers",
    keepsRequest: true,
    saves: true,
    stage: () =>
      graduatedTiers({
        limits: {
          tier1Count: 1,
          tier2Count: 1,
          resultChars: { 1: 200, 2: 60, 3: 20 },
          paramsChars: { 1: 100, 2: 40, 3: 20 },
        },
      }),
  },
  {
    name: "keep lines",
    keepsRequest: true,
    saves: true,
    stage: () => keepLines({ keepChars: 300, protectResults: 1 }),
  },
  { name: "small budget", saves: true, mayEmpty: true, stage: () => charBudget({ maxChars: 512 }) },
  { name: "budget", saves: true, mayEmpty: true, stage: () => charBudget({ maxChars: 3_000 }) },
  { name: "redact", stage: () => redactTranscript() },
  { name: "tool summaries", keepsRequest: true, stage: () => summarizeTools },
  {
    name: "recent results",
    keepsRequest: true,
    stage: () => (transcript) => compactToolResultsInRecent(transcript, 1),
  },
  { name: "drop media", keepsRequest: true, stage: () => (transcript) => dropMedia(transcript, "all") },
  {
    name: "fold into a pivot",
    keepsRequest: true,
    stage: () => (transcript) => summarizeOlder(transcript, { limitTokens: 4_000 }),
  },
  {
    name: "fold into a user summary",
    keepsRequest: true,
    stage: () => (transcript) =>
      summarizeOlder(transcript, { limitTokens: 4_000, representation: "user-summary" }),
  },
  { name: "omit for a child", keepsRequest: true, saves: true, stage: () => omitForChild() },
  { name: "clear outputs", keepsRequest: true, stage: (seed) => clearOutputs(createSeededRandom(seed)) },
  { name: "hide messages", isWild: true, stage: (seed) => hideMessages(createSeededRandom(seed)) },
  { name: "hide parts", isWild: true, stage: (seed) => hideParts(createSeededRandom(seed)) },
  { name: "insert messages", isWild: true, stage: (seed) => insertMessages(createSeededRandom(seed), seed) },
  { name: "move messages", isWild: true, stage: (seed) => moveMessages(createSeededRandom(seed)) },
];

const WHY = { stage: "random", reason: "test" } as const;

function summarizeTools(transcript: Transcript): readonly Edit[] {
  const settings = { toolCallCutoff: 1, toolSummaryStrategy: "heuristic" } as const;
  const answered = planToolSummaries(transcript, settings).batches.map((batch) => ({
    batch,
    answer: { status: "not-asked" } as const,
  }));
  return toolSummaryEdits(transcript, answered, completeToolSummarySettings(settings)).edits;
}

function clearOutputs(dice: SeededRandom): Stage {
  return (transcript) =>
    toolResults(transcript)
      .filter(() => dice.chance(50))
      .map(({ message, partIndex }) => ({
        type: "hide-part",
        what: "output",
        messageId: message.id,
        partIndex,
        ...WHY,
      }));
}

function hideMessages(dice: SeededRandom): Stage {
  return (transcript) =>
    shown(transcript)
      .filter(() => dice.chance(25))
      .map((message) => ({ type: "hide-message", messageId: message.id, ...WHY }));
}

function hideParts(dice: SeededRandom): Stage {
  return (transcript) =>
    shown(transcript).flatMap((message) =>
      message.parts.flatMap((_, partIndex): readonly Edit[] =>
        dice.chance(20)
          ? [{ type: "hide-part", what: "part", messageId: message.id, partIndex, ...WHY }]
          : [],
      ),
    );
}

function insertMessages(dice: SeededRandom, seed: number): Stage {
  return (transcript) =>
    [null, ...shown(transcript).map((message) => message.id)]
      .filter(() => dice.chance(20))
      .map((after, index) => {
        const message: Message = {
          id: `inserted-${seed}-${index}`,
          role: dice.chance(70) ? "user" : "assistant",
          parts: [{ type: "text", text: `inserted ${index}`, synthetic: true }],
        };
        return { type: "insert-message", message, after, ...WHY };
      });
}

function moveMessages(dice: SeededRandom): Stage {
  return (transcript) => {
    const ids = shown(transcript).map((message) => message.id);
    return ids
      .filter(() => dice.chance(20))
      .map((messageId) => ({
        type: "move-message",
        messageId,
        after: dice.oneOf([null, ...ids]),
        ...WHY,
      }));
  };
}

/** What the wire shows and edits may touch; the system text is the host's. */
function shown(transcript: Transcript): Transcript {
  return transcript.filter((message) => isVisibleToModel(message) && message.role !== "system");
}
