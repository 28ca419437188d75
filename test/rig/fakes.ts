import type {
  Clock,
  SummarizeOptions,
  Summarizer,
  SummaryRequest,
} from "../../src/compaction/ports/summarizer.ts";

/** A clock that stands still until it is told to move. */
export interface FakeClock extends Clock {
  /** Moves on, waking whoever waits in order and letting the code behind each run before the next. */
  advance(ms: number): Promise<void>;
  /** Moves from one wake-up to the next until the work is done; fails when nobody is left who could finish it. */
  runUntilDone<T>(work: Promise<T>): Promise<T>;
  /** Moves without waking anybody, as code does that blocks the thread. */
  block(ms: number): void;
  /** How many are waiting; zero when nothing was forgotten. */
  readonly waiting: number;
}

/** Makes a clock for tests: no time passes by itself. */
export function createFakeClock(startMs = 1_000_000): FakeClock {
  let nowMs = startMs;
  const sleepers = new Set<Sleeper>();

  async function moveTo(timeMs: number): Promise<void> {
    await settle();
    for (let next = earliest(); next !== undefined && next.atMs <= timeMs; next = earliest()) {
      nowMs = Math.max(nowMs, next.atMs);
      next.wake();
      await settle();
    }
    nowMs = Math.max(nowMs, timeMs);
  }

  function earliest(): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of sleepers) if (first === undefined || sleeper.atMs < first.atMs) first = sleeper;
    return first;
  }

  return {
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const sleeper: Sleeper = {
          atMs: nowMs + ms,
          wake: () => {
            sleepers.delete(sleeper);
            signal.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        if (signal.aborted) {
          resolve();
          return;
        }
        sleepers.add(sleeper);
        signal.addEventListener("abort", sleeper.wake);
      }),
    advance: (ms) => moveTo(nowMs + ms),
    async runUntilDone(work) {
      let isDone = false;
      const mark = (): void => {
        isDone = true;
      };
      work.then(mark, mark);
      await settle();
      while (!isDone) {
        const next = earliest();
        if (next === undefined) throw new Error("the work waits for something that no clock can bring");
        await moveTo(next.atMs);
      }
      return work;
    },
    block(ms) {
      nowMs += ms;
    },
    get waiting() {
      return sleepers.size;
    },
  };
}

interface Sleeper {
  readonly atMs: number;
  readonly wake: () => void;
}

/** Lets everything run that does not wait for the clock. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A summarizer that says what it was told to say and remembers what it was asked. */
export interface FakeSummarizer extends Summarizer {
  readonly calls: readonly FakeCall[];
}

interface FakeCall {
  readonly request: SummaryRequest;
  readonly options: SummarizeOptions;
}

/** A text to answer with, an error to reject with, or a function that does as it likes, broken answers included. */
export type FakeAnswer =
  | string
  | Error
  | ((request: SummaryRequest, options: SummarizeOptions, callIndex: number) => unknown);

/** Makes a summarizer for tests: one answer a call, the last one again for all calls after it. */
export function createFakeSummarizer(...answers: readonly FakeAnswer[]): FakeSummarizer {
  const calls: FakeCall[] = [];
  return {
    calls,
    summarize(request, options) {
      const callIndex = calls.length;
      calls.push({ request, options });
      const answer = answers[Math.min(callIndex, answers.length - 1)] ?? "";
      if (answer instanceof Error) return Promise.reject(answer);
      // What a test lets it return may be anything; the port's type is what a well-behaved driver keeps.
      if (typeof answer === "function") return answer(request, options, callIndex) as Promise<string>;
      return Promise.resolve(answer);
    },
  };
}

/** A listener that collects all events but those that tell how a compaction goes on. */
export function startsAndEnds<Event extends { readonly type: string }>(
  into: Event[],
): (event: Event) => void {
  return (event) => {
    if (event.type !== "compaction_progress") into.push(event);
  };
}
