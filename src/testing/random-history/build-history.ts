import { createDice, type Dice } from "./dice.ts";
import type { History, HistoryCall, HistoryResult, ModelStep, Step, Thought, UserStep } from "./history.ts";
import { MODELS } from "./history.ts";
import { HOSTILE_TEXTS, PLAIN_TEXTS, SMALL_IMAGE } from "./history-texts.ts";

/** What was thrown for one step of a history; small numbers give plain steps, so that a failing case shrinks to one. */
export interface StepDice {
  /** Who speaks. */
  readonly kind: number;
  /** How many calls. */
  readonly calls: number;
  /** Everything else that is in it. */
  readonly content: number;
  /** What goes wrong with the turn, and with one of its results. */
  readonly flaws: readonly number[];
}

export interface HistoryDice {
  readonly steps: readonly StepDice[];
  /** How the whole is held: thinking, caching, a system text, its end. */
  readonly manner: number;
}

/** The history that some dice stand for: the same dice, the same history. */
export function buildHistory({ steps: thrown, manner }: HistoryDice): History {
  const steps: Step[] = [];
  const held: Held = {
    isThinking: manner % 2 === 1,
    usedIds: [],
    late: [],
    model: MODELS[0] ?? "",
  };
  for (const [index, dice] of thrown.entries()) {
    const roll = createDice(dice.content + index * 7_919);
    const mustBeUser = needsUser(steps.at(-1)) && !(steps.length === 0 && manner % 50 === 49);
    if (dice.kind < 25 || mustBeUser) {
      steps.push(userStep(roll));
      if (held.late.length > 0) steps.push({ type: "results", results: held.late.splice(0) });
    }
    if (dice.kind >= 25) modelSteps({ dice, roll, held, index, steps });
  }
  // Clients ask when it is the model's turn; one in twenty-five histories is caught in between.
  if (needsUser(steps.at(-1)) && manner % 25 !== 24)
    steps.push({ type: "user", texts: ["Go on."], images: [] });
  return {
    system: manner % 3 === 0 ? "You help with code." : undefined,
    steps,
    isThinking: held.isThinking,
    cacheMarks: manner % 5 < 2 ? ([2, 2, 3, 6][manner % 4] ?? 0) : 0,
  };
}

interface Held {
  readonly isThinking: boolean;
  readonly usedIds: string[];
  /** Results that come in only after the user has spoken. */
  readonly late: HistoryResult[];
  model: string;
}

/** True at the start, and behind an answer that called nothing or was broken off. */
function needsUser(last: Step | undefined): boolean {
  return last === undefined || last.type === "model";
}

function userStep(roll: Dice): UserStep {
  const texts = roll.chance(10) ? [anyText(roll), anyText(roll)] : [anyText(roll)];
  return { type: "user", texts, images: roll.chance(8) ? [SMALL_IMAGE] : [] };
}

interface ModelContext {
  readonly dice: StepDice;
  readonly roll: Dice;
  readonly held: Held;
  readonly index: number;
  readonly steps: Step[];
}

/** An answer and what came of its calls. */
function modelSteps({ dice, roll, held, index, steps }: ModelContext): void {
  const [turnFlaw = 0, resultFlaw = 0] = dice.flaws;
  if (roll.chance(5)) held.model = roll.oneOf(MODELS);
  const calls = Array.from({ length: callCount(dice.calls) }, (_, n) =>
    anyCall({ roll, held, name: `${index}_${n}` }),
  );
  const step: ModelStep = {
    type: "model",
    model: held.model,
    thought: held.isThinking ? anyThought(roll, held.model, index) : undefined,
    text: calls.length === 0 || roll.chance(40) ? anyText(roll) : undefined,
    calls,
  };
  steps.push(step);
  if (calls.length === 0 || turnFlaw >= 95) return;
  const results = calls.map((call) => anyResult(call, roll));
  const flawed = results[roll.below(results.length)];
  if (flawed === undefined) return;
  const shown = resultFlaw < 90 ? results : results.filter((result) => resultFlaw >= 97 || result !== flawed);
  if (resultFlaw >= 97) shown.push({ ...flawed, text: "again" });
  if (resultFlaw >= 94 && resultFlaw < 97) held.late.push(flawed);
  // Tools finish in any order.
  if (roll.chance(20)) shown.reverse();
  if (shown.length > 0) steps.push({ type: "results", results: shown });
}

/** Mostly one call, sometimes none, at most eight. */
function callCount(die: number): number {
  if (die < 50) return 1;
  return die < 70 ? 0 : Math.min(8, 2 + Math.floor((die - 70) / 4));
}

interface CallContext {
  readonly roll: Dice;
  readonly held: Held;
  readonly name: string;
}

function anyCall({ roll, held, name }: CallContext): HistoryCall {
  const isRepeated = held.usedIds.length > 0 && roll.chance(1);
  const id = isRepeated ? roll.oneOf(held.usedIds) : `call_${name}`;
  held.usedIds.push(id);
  const tool = roll.oneOf(TOOLS);
  const filePath = roll.oneOf(PATHS);
  if (tool === "bash") return { id, tool, input: { command: anyText(roll) } };
  if (tool === "read") return { id, tool, input: { filePath } };
  return {
    id,
    tool,
    input: {
      filePath,
      oldString: anyText(roll),
      newString: anyText(roll),
      options: { depth: [1, anyText(roll)] },
    },
  };
}

const TOOLS: readonly string[] = ["bash", "read", "edit"];
const PATHS: readonly string[] = ["src/a.ts", "src/b.ts", "notes.md"];

function anyResult({ id, tool }: HistoryCall, roll: Dice): HistoryResult {
  return {
    callId: id,
    tool,
    text: anyText(roll),
    isError: roll.chance(15),
    image: roll.chance(4) ? SMALL_IMAGE : undefined,
  };
}

function anyThought(roll: Dice, model: string, index: number): Thought {
  return {
    text: `thinking about step ${index}`,
    seal: `${model}.${index}.${roll.below(1_000_000_000).toString(36)}+/=`,
    isRedacted: roll.chance(10),
  };
}

/** Mostly plain, one in fourteen hostile. */
function anyText(roll: Dice): string {
  return roll.chance(7) ? roll.oneOf(HOSTILE_TEXTS) : roll.oneOf(PLAIN_TEXTS);
}
