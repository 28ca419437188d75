import type { Transcript } from "../../transcript/message.ts";
import { historyText, plainMessages, unescapeText } from "../probe/history-text.ts";
import { hasIdentifier } from "../probe/identifiers.ts";
import { createProbe, type LocatedTarget, type Probe } from "../probe/next-use.ts";
import { chooseProbes, type EvalSession, type ProbeOptions } from "../probe/places.ts";
import { createScorer, type TextScore } from "../probe/score-text.ts";
import type { EvalPolicy } from "./policies.ts";

/** What every policy keeps at one place of a session. */
export interface ProbeResult {
  readonly targets: readonly TargetFacts[];
  readonly scores: readonly PolicyScore[];
  /** Checks of the measure itself: the whole history must keep everything, an empty text nothing. */
  readonly controls: { readonly missingInWhole: number; readonly mentionedInNothing: number };
}

export type TargetFacts = Pick<LocatedTarget, "class" | "resultOnly" | "callsSince">;

export interface PolicyScore extends TextScore {
  readonly policy: string;
  readonly budgetChars: number;
  /** It is usable, or one search of the archive brings it back; unset where that was not measured. */
  readonly usableWithRecall?: readonly boolean[];
}

interface RecallOptions extends ProbeOptions {
  readonly policies: readonly EvalPolicy[];
  readonly budgetsChars: readonly number[];
  /** Whether what a search of the archive brings back is measured too. */
  readonly search?: "measured";
}

/** The probes of a session that have enough targets. */
export function probesOf(session: EvalSession, options: ProbeOptions): readonly Probe[] {
  const { workingDirectory } = session;
  return chooseProbes(session.transcript, options)
    .map(({ stretch, atIndex }) =>
      createProbe(stretch, {
        atIndex,
        steps: options.steps,
        ...(workingDirectory !== undefined && { workingDirectory }),
      }),
    )
    .filter(({ targets }) => targets.length >= MIN_TARGETS);
}

/** Next-use recall of all policies at all budgets. Budgets larger than the history are left out: nothing is lost there. */
export function measureRecall(probes: readonly Probe[], options: RecallOptions): readonly ProbeResult[] {
  return probes.map((probe) => {
    const score = createScorer(probe);
    const search = options.search === "measured" ? createRecallSearch(probe.history) : undefined;
    const recalled = (usable: readonly boolean[], text: string): Pick<PolicyScore, "usableWithRecall"> => {
      if (search === undefined) return {};
      if (!usable.includes(false)) return { usableWithRecall: usable };
      const knownWords = wordsOf(unescapeText(text));
      const usableWithRecall = probe.targets.map(
        (target, index) => usable[index] === true || search(target, knownWords),
      );
      return { usableWithRecall };
    };
    const scores: PolicyScore[] = [];
    for (const budgetChars of options.budgetsChars) {
      if (probe.historyChars <= budgetChars) continue;
      for (const { name, run } of options.policies) {
        const text = run(probe.history, budgetChars);
        const scored = score(text);
        scores.push({ policy: name, budgetChars, ...scored, ...recalled(scored.usable, text) });
      }
    }
    return {
      targets: probe.targets.map(({ class: kind, resultOnly, callsSince }) => ({
        class: kind,
        resultOnly,
        callsSince,
      })),
      scores,
      controls: {
        missingInWhole: countOf(score(plainMessages(probe.history).join("")).usable, false),
        mentionedInNothing: countOf(score("").mentioned, true),
      },
    };
  });
}

const MIN_TARGETS = 3;

function countOf(flags: readonly boolean[], wanted: boolean): number {
  return flags.filter((flag) => flag === wanted).length;
}

/** Whether one search of the archive brings a target back, given the words that the kept text has. */
type RecallSearch = (target: LocatedTarget, knownWords: ReadonlySet<string>) => boolean;

/**
 * A search over everything in a history. The child asks once for a target, with the words around it (its line and the
 * neighbours, without the target itself) that are in the kept text. It gets the passages that share most with the
 * question, rare words counting more, newest first among equals, up to the size of one recall.
 */
export function createRecallSearch(history: Transcript): RecallSearch {
  const passages = passagesOf(history);
  const passagesWith = indexOf(passages);
  return (target, knownWords) => {
    const question = questionFor(target, knownWords);
    const text = bestPassages(question, { passages, passagesWith });
    return hasIdentifier(text, target) && target.places.some(({ snippet }) => text.includes(snippet));
  };
}

/** The words of a text, in lower case. */
function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(WORD) ?? []);
}

const WORD = /[a-z0-9_]{3,}/g;
const PASSAGE_CHARS = 1_000;
/** The limit of one recall. */
const RECALLED_CHARS = 8_000;

/** The blocks of a history in pieces of whole lines, oldest first. */
function passagesOf(history: Transcript): readonly string[] {
  const { text, blocks } = historyText(history);
  const passages: string[] = [];
  for (const { startChar, endChar } of blocks) {
    for (let from = startChar; from < endChar; ) {
      const lineEnd = text.indexOf("\n", Math.min(endChar, from + PASSAGE_CHARS));
      const to = lineEnd === -1 || lineEnd > endChar ? endChar : lineEnd;
      passages.push(text.slice(from, to));
      from = to + 1;
    }
  }
  return passages;
}

type PassagesWith = ReadonlyMap<string, readonly number[]>;

function indexOf(passages: readonly string[]): PassagesWith {
  const index = new Map<string, number[]>();
  for (const [number, passage] of passages.entries()) {
    for (const word of wordsOf(passage)) {
      const known = index.get(word);
      if (known === undefined) index.set(word, [number]);
      else known.push(number);
    }
  }
  return index;
}

function questionFor(
  { identifier, places }: LocatedTarget,
  knownWords: ReadonlySet<string>,
): readonly string[] {
  const { line = "", before = "", after = "" } = places[0] ?? {};
  const own = wordsOf(identifier);
  const around = wordsOf(`${before}\n${line}\n${after}`);
  return [...around].filter((word) => !own.has(word) && knownWords.has(word));
}

function bestPassages(
  question: readonly string[],
  { passages, passagesWith }: { readonly passages: readonly string[]; readonly passagesWith: PassagesWith },
): string {
  const scores = new Map<number, number>();
  for (const word of question) {
    const holders = passagesWith.get(word) ?? [];
    const rarity = Math.log(1 + passages.length / Math.max(1, holders.length));
    for (const number of holders) scores.set(number, (scores.get(number) ?? 0) + rarity);
  }
  const best = [...scores].sort(
    ([one, oneScore], [other, otherScore]) => otherScore - oneScore || other - one,
  );
  let text = "";
  for (const [number] of best) {
    const passage = passages[number] ?? "";
    if (text.length + passage.length > RECALLED_CHARS) continue;
    text += `${passage}\n`;
  }
  return text;
}
