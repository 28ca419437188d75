import { repairPairing } from "../../stages/repair-pairing.ts";
import type { Stage } from "../../transcript/edit.ts";
import type { Fault } from "../../transcript/find-faults.ts";
import type { Transcript } from "../../transcript/message.ts";
import { runStages } from "../../transcript/run-stages.ts";
import { deepFreeze } from "../deep-freeze.ts";
import type { History } from "./history.ts";
import type { ProviderCase } from "./provider-cases.ts";
import { RANDOM_STAGES, type RandomStage } from "./random-stages.ts";

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
  { format, lower, findEditFaults }: ProviderCase,
): HistoryProblem | undefined {
  const chosen = stages.map((number) => RANDOM_STAGES[number % RANDOM_STAGES.length] as RandomStage);
  const wire = deepFreeze(lower(history));
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
    return { edited, repaired: format.apply(wire, [...edits, ...repair(after)], AT) };
  };

  const { edited, repaired } = run();
  const isWild = chosen.some((stage) => stage.isWild);
  const brought = newFaults(format.faults(wire), format.faults(edited), isWild ? ENDS : FIRST);
  if (brought.length > 0) return problem("an edit brings no fault", brought, edited);
  const broken = findEditFaults(wire, edited).filter((fault) => !(isWild && fault.rule === "gemini-46"));
  if (broken.length > 0) return problem("an edit leaves sealed content alone", broken, edited);

  const left = format.faults(repaired);
  if (left.length > 0) return problem("repair leaves no fault", left, repaired);
  if (seed % RUN_TWICE_EVERY === 0 && JSON.stringify(run()) !== JSON.stringify({ edited, repaired }))
    return problem("the same input gives the same bytes", [], repaired);
  if (repair(format.decode(repaired)).length > 0)
    return problem("repairing again does nothing", [], repaired);
  return undefined;
}

/** Running twice costs twice: every fourth shows whether chance or order got in. */
const RUN_TWICE_EVERY = 4;

const AT = { at: 1_700_000_000_000 };

const repair: Stage = (transcript) => repairPairing(transcript, { lastMessage: "user" });

/** Only the repair can put a question before an answer that a cut has left in front. */
const FIRST: readonly string[] = ["common-09", "gemini-41", "gemini-42"];
/** Wild edits may take the question away that was asked last, too. */
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

/** A result that is one too many breaks another rule when its call is hidden: what is loose stays loose. */
function kindOf(rule: string): string {
  return PAIRING.includes(rule) ? "pairing" : rule;
}

const PAIRING: readonly string[] = [
  ...["common-01", "common-02", "common-03", "common-04", "common-05", "common-06"],
  ...["anthropic-19", "openai-chat-28", "openai-chat-29", "openai-responses-33", "gemini-40"],
];
