import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, extname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { workerData } from "node:worker_threads";
import { gunzipSync } from "node:zlib";
import { type EvalOptions, measureSession, type SessionMeasure } from "../../eval/measure-session.ts";
import { BUILT_IN_POLICIES, type EvalPolicy } from "../../eval/measures/policies.ts";
import { type EvalSession, linesInFileOrder, workingDirectoryOf } from "../../eval/probe/eval-session.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import { formatOf, readTranscript } from "../../formats/read-transcript.ts";
import type { Transcript } from "../../transcript/message.ts";
import { runThreadPool, serveThread } from "../files/thread-pool.ts";
import { CliError } from "../terminal/cli-error.ts";

interface EvalRun {
  readonly files: readonly string[];
  readonly setup: EvalSetup;
  /** How many threads; one measures right here. */
  readonly jobs: number;
  /** The program that a thread runs. */
  readonly program: string;
  readonly onProgress: (done: number, outcome: EvalOutcome) => void;
}

/** Measures all files, on as many threads as asked for; the outcomes are in the order of the files. */
export async function runEval(run: EvalRun): Promise<readonly EvalOutcome[]> {
  const { files, jobs, program, setup } = run;
  const outcomes = new Map<string, EvalOutcome>();
  const keep = (path: string, outcome: EvalOutcome): void => {
    outcomes.set(path, outcome);
    run.onProgress(outcomes.size, outcome);
  };
  if (jobs <= 1 || files.length === 1) {
    const measure = await createEvalJob(setup);
    for (const path of files) keep(path, await measure(path));
  } else {
    await runThreadPool({
      items: files,
      threads: jobs,
      program,
      argv: ["eval", "--worker"],
      setup,
      onAnswer: keep,
    });
  }
  return files.map((path) => outcomes.get(path) ?? { status: "skipped", reason: "its thread ended early" });
}

/** Everything that a worker must know, as plain data. */
export interface EvalSetup extends Pick<EvalOptions, "budgetsChars" | "measures" | "steps" | "maxProbes"> {
  readonly policyNames: readonly string[];
  readonly branches: EvalBranches;
  /** Undefined: nothing is kept. */
  readonly cacheFolder: string | undefined;
  /** Changes with the program, and with policies of the user's own. */
  readonly codeVersion: string;
}

/** What became of one file. */
export type EvalOutcome =
  | { readonly status: "measured"; readonly measure: SessionMeasure; readonly source: "new" | "cache" }
  | { readonly status: "skipped"; readonly reason: string };

/** A way to measure files one by one; a file that cannot be read is skipped, never fatal. */
async function createEvalJob(setup: EvalSetup): Promise<(path: string) => Promise<EvalOutcome>> {
  const policies = await loadEvalPolicies(setup.policyNames);
  const cache = setup.cacheFolder === undefined ? undefined : createEvalCache(setup.cacheFolder);
  // How long something took is true of that run alone.
  const measures = setup.measures.filter((name) => name !== "speed");
  const { cacheFolder: _, ...counted } = { ...setup, measures };
  return async (path) => {
    try {
      const bytes = await readFile(path);
      const key = createHash("sha256").update(JSON.stringify(counted)).update(bytes).digest("hex");
      const known = await cache?.get(key);
      if (known !== undefined && measures.length === setup.measures.length)
        return { status: "measured", source: "cache", measure: { ...known, name: path } };
      const session = await readEvalSession(bytes, { name: path, branches: setup.branches });
      if (session.status === "unreadable") return { status: "skipped", reason: session.reason };
      const options = { ...setup, policies, now: () => performance.now() };
      const kept = known ?? (await measureSession(session.session, { ...options, measures }));
      if (known === undefined) await cache?.put(key, kept);
      const { speed } = await measureSession(session.session, {
        ...options,
        measures: setup.measures.filter((name) => name === "speed"),
      });
      const source = known === undefined ? "new" : "cache";
      return { status: "measured", source, measure: { ...kept, name: path, speed } };
    } catch (error) {
      return { status: "skipped", reason: (error as Error).message };
    }
  };
}

/** The version of the program and of the user's own policies, by their bytes. */
export async function evalCodeVersion(policyNames: readonly string[], program: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of [program, ...policyNames.filter(isPolicyFile)]) hash.update(await readFile(file));
  return hash.digest("hex");
}

/** Measures the files that the main thread names. */
export async function runEvalWorker(): Promise<void> {
  await serveThread(await createEvalJob(workerData as EvalSetup));
}

/** A session to measure on, or why there is none in a file. */
type EvalSessionFile =
  | { readonly status: "read"; readonly session: EvalSession }
  | { readonly status: "unreadable"; readonly reason: string };

/** `file`: all branches of a session, in the order in which they were written. `live`: the one it would go on with. */
type EvalBranches = "file" | "live";

interface ReadEvalSessionOptions {
  /** What the session is called in reports. */
  readonly name: string;
  readonly branches: EvalBranches;
}

/** Reads a session from the bytes of a transcript file of any known format, gzipped or not. */
export async function readEvalSession(
  bytes: Uint8Array,
  { name, branches }: ReadEvalSessionOptions,
): Promise<EvalSessionFile> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const file = await readTranscript(isGzip ? gunzipSync(bytes) : bytes);
  if (file.format === "unknown") return { status: "unreadable", reason: file.reason };
  const { format, wire } = file;
  const transcript = (branches === "file" ? allBranches(format, wire) : undefined) ?? file.transcript;
  const workingDirectory = workingDirectoryOf(wire);
  return {
    status: "read",
    session: { name, format, transcript, ...(workingDirectory !== undefined && { workingDirectory }) },
  };
}

function allBranches(format: FormatName, wire: unknown): Transcript | undefined {
  if ((format !== "claude-code" && format !== "pi") || !Array.isArray(wire)) return undefined;
  return formatOf(format)?.decode(linesInFileOrder(wire));
}

/** The policies with these names; a name with a slash or a script's ending is a module of the user's own. */
export async function loadEvalPolicies(names: readonly string[]): Promise<readonly EvalPolicy[]> {
  return Promise.all(names.map((name) => (isPolicyFile(name) ? importPolicy(name) : builtIn(name))));
}

/** True for a name that is a path to a module. */
function isPolicyFile(name: string): boolean {
  return /[/\\]/.test(name) || /\.[cm]?js$/.test(name);
}

function builtIn(name: string): EvalPolicy {
  const policy = BUILT_IN_POLICIES.find((each) => each.name === name);
  if (policy !== undefined) return policy;
  const names = BUILT_IN_POLICIES.map((each) => each.name).join(", ");
  throw new CliError(`There is no policy ${name}`, [
    `Choose from ${names}, or give the path of a module.`,
    "`carryover eval --policy list` explains them.",
  ]);
}

async function importPolicy(path: string): Promise<EvalPolicy> {
  const name = basename(path, extname(path));
  let exported: unknown;
  try {
    exported = ((await import(pathToFileURL(resolve(path)).href)) as { readonly default?: unknown }).default;
  } catch (error) {
    throw new CliError(`Cannot load the policy ${path}: ${(error as Error).message}`, [], { cause: error });
  }
  if (typeof exported === "function")
    return { name, explain: `the function in ${path}`, run: exported as EvalPolicy["run"] };
  if (isPolicy(exported)) return exported;
  throw new CliError(`${path} exports no policy`, [
    "Write `export default (transcript, budgetChars) => text`, or export { name, explain, run } as default.",
  ]);
}

function isPolicy(value: unknown): value is EvalPolicy {
  if (typeof value !== "object" || value === null) return false;
  const { name, explain, run } = value as Partial<Record<keyof EvalPolicy, unknown>>;
  return typeof name === "string" && typeof explain === "string" && typeof run === "function";
}

/** Keeps what was measured, so that a run that was stopped goes on where it was. Holds figures, never what a session says. */
interface EvalCache {
  get(key: string): Promise<SessionMeasure | undefined>;
  put(key: string, measure: SessionMeasure): Promise<void>;
}

/** A cache in a folder. An entry is written whole or not at all; one that cannot be read or written is only slow. */
function createEvalCache(folder: string): EvalCache {
  return {
    async get(key) {
      try {
        return JSON.parse(await readFile(join(folder, `${key}.json`), "utf8")) as SessionMeasure;
      } catch {
        return undefined;
      }
    },
    async put(key, measure) {
      const temporary = join(folder, `${key}.${process.pid}.tmp`);
      try {
        await mkdir(folder, { recursive: true });
        await writeFile(temporary, JSON.stringify(measure));
        await rename(temporary, join(folder, `${key}.json`));
      } catch {
        await rm(temporary, { force: true }).catch(() => undefined);
      }
    },
  };
}

/** Removes entries that nobody has asked for in a while: each version of the program leaves its own. */
export async function cleanEvalCache(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const modifiedMs = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => nowMs,
    );
    if (nowMs - modifiedMs > MAX_AGE_MS) await rm(path, { force: true }).catch(() => undefined);
  }
}

const MAX_AGE_MS = 14 * 24 * 3_600_000;

/** Where the cache is unless told otherwise: `carryover/eval` in $XDG_CACHE_HOME, else in ~/.cache. */
export function defaultEvalCacheFolder(env: NodeJS.ProcessEnv): string {
  const cacheHome = env.XDG_CACHE_HOME;
  const base = cacheHome && isAbsolute(cacheHome) ? cacheHome : join(env.HOME || homedir(), ".cache");
  return join(base, "carryover", "eval");
}
