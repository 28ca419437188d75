import { callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import { errorText } from "../compaction/summary/text.ts";
import { callback, objectOf, type Problem, type Rule, required, rule, type Shape } from "../text/check.ts";
import { jsonOrText } from "../text/json.ts";
import { asObject, isObject } from "../text/unknown-value.ts";
import type { Journal, JournalContent, JournalProblem } from "./journal.ts";

/** Where the state of a conversation is kept as a list of small values, such as rows of a table. */
export interface Persistence {
  /** Gives everything that was appended for this conversation, in any order; what a snapshot has replaced may be missing. */
  readonly load: () => unknown;
  /** Keeps one more value, which is plain JSON. It counts as kept when this resolves; where it does not, a snapshot that holds it is given with the next one. */
  readonly append: (delta: PersistedDelta) => void | Promise<void>;
  /** How long a request waits for either in milliseconds, once: what has not answered is not waited for until it has. @default 2000 */
  readonly timeoutMs?: number;
}

/** What the option for it may be. */
export const PERSIST_RULE: Rule = objectOf({
  load: required(callback),
  append: required(callback),
  timeoutMs: rule(
    "a number of milliseconds from 1 to 30000",
    (value) => typeof value === "number" && value >= 1 && value <= 30_000,
  ),
} satisfies Shape<Persistence>);

/** What is wrong with options that name two places for the same. */
export function findTwoJournals(options: unknown): readonly Problem[] {
  const { persist, store } = asObject(options);
  if (persist === undefined || asObject(store).journal === undefined) return [];
  return [{ path: ["persist"], text: "persist and store.journal keep the same; give one of them" }];
}

/** One value to keep. */
export interface PersistedDelta {
  /** `snapshot`: in place of everything with a smaller number, which may be deleted once this is kept. */
  readonly type: "change" | "snapshot";
  /** Grows by one with every value. */
  readonly number: number;
  /** Counts the processes that have written. */
  readonly writer: number;
  /** What was done. */
  readonly record: unknown;
}

/**
 * A journal that hands its entries to code from outside, which may hang or fail: the session says how long it waits for that,
 * and writes a snapshot in place of what was not kept. Values are numbered as they are given away, so one that comes late,
 * or twice, or behind a snapshot in its place changes nothing.
 */
export function createPersistJournal(
  { load, append: keep, timeoutMs: limitMs = DEFAULT_TIMEOUT_MS }: Persistence,
  { clock }: { readonly clock: Clock },
): Journal {
  /** Unset until what was kept before is known. */
  let last: { readonly number: number; readonly writer: number } | undefined;
  /** False while what was kept before is neither taken in nor replaced. */
  let isContinued = false;
  let calls = 0;
  let newestCall = 0;

  async function open(): Promise<JournalContent> {
    const { newest, ...content } = readDeltas(await load());
    last ??= { number: newest.number, writer: newest.writer + 1 };
    return content;
  }

  async function give(record: unknown): Promise<number> {
    const { number, writer } = last ?? NOTHING_KEPT;
    last = { number: number + 1, writer };
    await keep({ type: typeOf(record), number: number + 1, writer, record });
    return number + 1;
  }

  return {
    keeps: "state",
    limitMs,

    async append(record) {
      const call = ++calls;
      if (last === undefined) await open();
      // While it was loaded a later one was given away, which stands for this one too.
      if (newestCall > call) return { status: "failed", code: "OVERTAKEN", reason: "a later one was first" };
      newestCall = call;
      const isAnew = !isContinued && typeOf(record) === "change";
      isContinued = true;
      // The session began without what was kept, so nothing of that counts.
      if (isAnew) await give(NOTHING_YET);
      return { status: "appended", sequence: await give(record) };
    },

    async read() {
      const result = await callWithin({ start: open, limitMs, clock });
      if (result.status === "done") {
        isContinued = true;
        return result.value;
      }
      const why = result.status === "failed" ? errorText(result.error) : `no answer within ${limitMs} ms`;
      const problem = { type: "failed", place: "persist.load", code: "NOT_LOADED", reason: why } as const;
      return { entries: [], problems: [problem] };
    },
  };
}

const DEFAULT_TIMEOUT_MS = 2_000;
const NOTHING_KEPT = { number: 0, writer: 0 } as const;
const NOTHING_YET = { v: 2, type: "snapshot", at: 0, state: { v: 2, batches: [] }, ledger: [] } as const;

function typeOf(record: unknown): PersistedDelta["type"] {
  return asObject(record).type === "snapshot" ? "snapshot" : "change";
}

/**
 * The entries in what was kept, in order. An append that nobody waited for any more may have come late or twice: it
 * counts once, and not at all when another process has gone on without it.
 */
function readDeltas(
  value: unknown,
): JournalContent & { readonly newest: { readonly number: number; readonly writer: number } } {
  const given = Array.isArray(value) ? value.map(jsonOrText) : [];
  const problems: JournalProblem[] = [];
  if (!Array.isArray(value) && value !== undefined && value !== null)
    problems.push(problemAt(0, "bad-line", "is no list of the values that were appended"));
  const deltas = new Map<string, PersistedDelta>();
  const firstOf = new Map<number, number>();
  for (const [index, item] of given.entries()) {
    if (isDelta(item)) {
      const { number, writer } = item;
      deltas.set(`${writer}/${number}`, item);
      firstOf.set(writer, Math.min(firstOf.get(writer) ?? number, number));
    } else problems.push(problemAt(index, "bad-line", "is no value that was appended"));
  }
  const isOvertaken = ({ number, writer }: PersistedDelta): boolean =>
    [...firstOf].some(([other, first]) => other > writer && first <= number);
  const kept = [...deltas.values()]
    .filter((delta) => !isOvertaken(delta))
    .sort((one, other) => one.number - other.number);
  const start = kept.findLastIndex(({ type }) => type === "snapshot");
  const inForce = kept.slice(Math.max(0, start));
  for (const [index, { number }] of inForce.entries()) {
    const before = inForce[index - 1]?.number ?? (start === -1 ? 0 : number - 1);
    if (number !== before + 1) problems.push(problemAt(index, "missing-lines", `${before + 1} is missing`));
  }
  return {
    entries: inForce.map(({ number, writer, record }) => ({
      sequence: number,
      writer: String(writer),
      value: record,
    })),
    problems,
    newest: {
      number: Math.max(0, ...kept.map(({ number }) => number)),
      writer: Math.max(0, ...firstOf.keys()),
    },
  };
}

function problemAt(index: number, type: JournalProblem["type"], reason: string): JournalProblem {
  return { type, place: "persist.load", line: index + 1, code: "NOT_READ", reason };
}

function isDelta(value: unknown): value is PersistedDelta {
  if (!isObject(value) || (value.type !== "change" && value.type !== "snapshot")) return false;
  const isPlaced = [value.number, value.writer].every((at) => Number.isSafeInteger(at) && Number(at) > 0);
  return isPlaced && isObject(value.record);
}
