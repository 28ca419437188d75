import { callWithin } from "../compaction/ports/call-within.ts";
import type { Clock } from "../compaction/ports/summarizer.ts";
import { callback, objectOf, type Problem, type Rule, required, rule, type Shape } from "../text/check.ts";
import { asObject, isObject, jsonOrText } from "../text/json.ts";
import type { Journal, JournalContent, JournalProblem } from "./journal.ts";

/** Where the state of a conversation is kept as a list of small values, such as rows of a table. */
export interface Persistence {
  /** Gives everything that was appended for this conversation, in any order; what a snapshot has replaced may be missing. */
  readonly load: () => unknown;
  /** Keeps one more value, which is plain JSON. It counts as kept when this resolves, and is given again when not. */
  readonly append: (delta: PersistedDelta) => void | Promise<void>;
  /** How long either may take in milliseconds; a request waits no longer. @default 5000 */
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

/** A journal in a list that somebody else keeps. */
export interface PersistJournal extends Journal {
  /** Tries once more to have kept what could not be; nobody has to wait for it. */
  retry(): void;
}

/**
 * A journal that hands its entries to code from outside, which may hang or fail: what was not kept is given again with the
 * next entry, in order, and nobody waits longer than the limit, or at all while nothing can be kept.
 */
export function createPersistJournal(
  { load, append: keep, timeoutMs: limitMs = DEFAULT_TIMEOUT_MS }: Persistence,
  { clock, onFailure }: PersistPorts,
): PersistJournal {
  let queue: readonly Waiting[] = [];
  let sending: Promise<void> | undefined;
  let isDown = false;
  /** Unset until what was kept before is known. */
  let last: { readonly number: number; readonly writer: number } | undefined;

  function fail(what: string, result: { readonly status: string; readonly error?: unknown }): void {
    const why = result.status === "failed" ? String(result.error) : `no answer within ${limitMs} ms`;
    if (!isDown) onFailure(`${what}: ${why.slice(0, 200)}`);
    isDown = true;
  }

  async function open(): Promise<JournalContent | undefined> {
    const result = await callWithin({ start: async () => load(), limitMs, clock });
    if (result.status === "done") {
      const { newest, ...content } = readDeltas(result.value);
      last = { number: newest.number, writer: newest.writer + 1 };
      return content;
    }
    fail("What was persisted could not be loaded", result);
    return undefined;
  }

  async function sendAll(): Promise<void> {
    if (last === undefined) {
      if ((await open()) === undefined) return;
      // The session began anew meanwhile, so nothing of before counts.
      if (queue[0] !== undefined && typeOf(queue[0].record) !== "snapshot")
        queue = [{ record: NOTHING_YET }, ...queue];
    }
    for (let [head] = queue; head !== undefined; [head] = queue) {
      const delta = numbered(head);
      const result = await callWithin({ start: async () => keep(delta), limitMs, clock });
      if (result.status !== "done") return fail("What was done could not be persisted", result);
      isDown = false;
      if (queue[0] === head) queue = queue.slice(1);
    }
  }

  function numbered(waiting: Waiting): PersistedDelta {
    const { number, writer } = last ?? NOTHING_KEPT;
    if (waiting.number === undefined) {
      waiting.number = number + 1;
      last = { number: number + 1, writer };
    }
    const { record } = waiting;
    return { type: typeOf(record), number: waiting.number, writer, record };
  }

  function send(): Promise<void> {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
    return sending;
  }

  return {
    keeps: "state",

    async append(record) {
      const waiting = { record };
      queue = typeOf(record) === "snapshot" ? [waiting] : [...queue, waiting];
      const wasDown = isDown;
      const sent = send();
      if (!wasDown) await callWithin({ start: () => sent, limitMs, clock });
      return { status: "appended", sequence: (last ?? NOTHING_KEPT).number };
    },

    async read() {
      const problem = { type: "failed", place: "persist.load", code: "NOT_LOADED" } as const;
      return (await open()) ?? { entries: [], problems: [{ ...problem, reason: "could not be loaded" }] };
    },

    retry() {
      if (queue.length > 0) void send();
    },
  };
}

interface PersistPorts {
  readonly clock: Clock;
  /** Told once when something could not be kept, and again only after something was. */
  readonly onFailure: (message: string) => void;
}

interface Waiting {
  readonly record: unknown;
  /** Set when it was first given away. */
  number?: number;
}

const DEFAULT_TIMEOUT_MS = 5_000;
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
