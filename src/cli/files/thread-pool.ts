import { realpathSync } from "node:fs";
import { parentPort, Worker } from "node:worker_threads";
import { errorMessage } from "../../text/failure.ts";
import { CliError } from "../terminal/cli-error.ts";

/**
 * Measures files one by one in this thread, or in several threads that each take the next file when they are free. A
 * thread runs this program again, with arguments that lead it to `serveThread`. The outcomes are in the order of the
 * files, undefined for one that was not reached.
 */
export async function measureFiles<Outcome>(
  job: MeasureJob<Outcome>,
): Promise<readonly (Outcome | undefined)[]> {
  const { files, threads, signal, onOutcome } = job;
  const outcomes = new Map<string, Outcome>();
  const keep = (file: string, outcome: Outcome): void => {
    outcomes.set(file, outcome);
    onOutcome(outcomes.size, outcome);
  };
  if (threads <= 1 || files.length === 1) {
    const measure = await job.createMeasure();
    for (const file of files) {
      if (signal?.aborted) break;
      keep(file, await measure(file));
    }
  } else if (!signal?.aborted) await measureInThreads(job, keep);
  return files.map((file) => outcomes.get(file));
}

interface MeasureJob<Outcome> {
  readonly files: readonly string[];
  readonly threads: number;
  /** Called in this thread if there is only one. */
  readonly createMeasure: () => Promise<Measure<Outcome>> | Measure<Outcome>;
  /** The arguments that lead a thread to `serveThread`. */
  readonly argv: readonly string[];
  /** Becomes the `workerData` of each thread. */
  readonly workerData?: unknown;
  /** Called after each file, with the number of those done. */
  readonly onOutcome: (done: number, outcome: Outcome) => void;
  readonly signal?: AbortSignal;
}

type Measure<Outcome> = (file: string) => Promise<Outcome>;

async function measureInThreads<Outcome>(
  { files, threads: count, argv, workerData, signal }: MeasureJob<Outcome>,
  keep: (file: string, outcome: Outcome) => void,
): Promise<void> {
  const waiting = [...files];
  const threads = Array.from(
    { length: Math.min(count, files.length) },
    () => new Worker(currentProgram(), { argv: [...argv], workerData }),
  );
  const finished = threads.map(
    (thread) =>
      new Promise<void>((resolve, reject) => {
        thread.on("message", (message: ThreadOutcome<Outcome> | null) => {
          if (message !== null) keep(message.file, message.outcome);
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
    throw new CliError(`A thread failed: ${errorMessage(error)}`, ["Try --jobs 1."], { cause: error });
  } finally {
    signal?.removeEventListener("abort", stop);
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** In a thread: measures the files that the main thread sends, until there are no more. */
export async function serveThread<Outcome>(measure: Measure<Outcome>): Promise<void> {
  if (parentPort === null) throw new Error("--worker is for the program's own threads");
  const port = parentPort;
  await new Promise<void>((resolve) => {
    port.on("message", async (file: string | null) => {
      if (file === null) {
        port.close();
        resolve();
        return;
      }
      port.postMessage({ file, outcome: await measure(file) } satisfies ThreadOutcome<Outcome>);
    });
    port.postMessage(null);
  });
}

interface ThreadOutcome<Outcome> {
  readonly file: string;
  readonly outcome: Outcome;
}

/** The file of the program that runs now. */
export function currentProgram(): string {
  return realpathSync(process.argv[1] ?? "");
}

/** Shows on standard error how many files are done: one line that changes on a terminal, about ten lines elsewhere. */
interface FileProgress {
  readonly step: (done: number, note?: string) => void;
  readonly end: () => void;
}

/** The progress of working through `total` files. */
export function createFileProgress(stream: NodeJS.WriteStream, total: number): FileProgress {
  let shownTenths = 0;
  return {
    step(done, note = "") {
      const line = `${done} of ${total} files${note}`;
      const tenths = Math.floor((10 * done) / total);
      if (stream.isTTY) stream.write(`\r${line}`);
      else if (tenths > shownTenths) stream.write(`${line}\n`);
      shownTenths = tenths;
    },
    end() {
      if (stream.isTTY) stream.write("\n");
    },
  };
}
