import { realpathSync } from "node:fs";
import { parentPort, Worker } from "node:worker_threads";
import { CliError } from "../terminal/cli-error.ts";

interface ThreadPool<Answer> {
  readonly items: readonly string[];
  readonly threads: number;
  /** The program that a thread runs; the bundle has one file, so it is this very program. */
  readonly program?: string;
  /** The arguments that lead the program to `serveThread`. */
  readonly argv: readonly string[];
  /** Everything that a thread must know, as plain data. */
  readonly setup?: unknown;
  readonly onAnswer: (item: string, answer: Answer) => void;
  /** Stops handing out items and ends the threads. */
  readonly signal?: AbortSignal;
}

/** Has every item answered, each by whichever thread is free next. */
export async function runThreadPool<Answer>(pool: ThreadPool<Answer>): Promise<void> {
  const { items, threads: count, program = ownProgram(), argv, setup, onAnswer, signal } = pool;
  if (signal?.aborted) return;
  const waiting = [...items];
  const threads = Array.from(
    { length: Math.min(count, items.length) },
    () => new Worker(program, { argv: [...argv], workerData: setup }),
  );
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        thread.on("message", (message: ThreadAnswer<Answer> | null) => {
          if (message !== null) onAnswer(message.item, message.answer);
          thread.postMessage(waiting.shift() ?? null);
        });
        thread.once("error", reject);
        thread.once("exit", () => resolve());
      }),
  );
  const stop = (): void => {
    for (const thread of threads) void thread.terminate();
  };
  signal?.addEventListener("abort", stop);
  try {
    await Promise.all(finished);
  } catch (error) {
    throw new CliError(`A thread failed: ${(error as Error).message}`, ["Try --jobs 1."], { cause: error });
  } finally {
    signal?.removeEventListener("abort", stop);
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** In a thread of the pool: answers the items that the main thread names, one at a time, until there are no more. */
export async function serveThread<Answer>(answer: (item: string) => Promise<Answer>): Promise<void> {
  if (parentPort === null) throw new Error("--worker is for the program's own threads");
  const port = parentPort;
  await new Promise<void>((resolve) => {
    port.on("message", async (item: string | null) => {
      if (item === null) {
        port.close();
        resolve();
        return;
      }
      port.postMessage({ item, answer: await answer(item) } satisfies ThreadAnswer<Answer>);
    });
    port.postMessage(null);
  });
}

interface ThreadAnswer<Answer> {
  readonly item: string;
  readonly answer: Answer;
}

/** The program that runs now. */
function ownProgram(): string {
  return realpathSync(process.argv[1] ?? "");
}

/** Says on standard error how many files are done: one line that changes on a terminal, a few lines elsewhere. */
interface FileProgress {
  /** `note` is what else is worth knowing. */
  readonly step: (done: number, note?: string) => void;
  readonly end: () => void;
}

/** The progress of working through this many files. */
export function createFileProgress(stream: NodeJS.WriteStream, total: number): FileProgress {
  let saidTenths = 0;
  return {
    step(done, note = "") {
      const line = `${done} of ${total} files${note}`;
      const tenths = Math.floor((10 * done) / total);
      if (stream.isTTY) stream.write(`\r${line}`);
      else if (tenths > saidTenths) stream.write(`${line}\n`);
      saidTenths = tenths;
    },
    end() {
      if (stream.isTTY) stream.write("\n");
    },
  };
}
