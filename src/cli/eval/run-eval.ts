import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, extname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { workerData } from "node:worker_threads";
import { type EvalOptions, measureSession, type SessionMeasure } from "../../eval/measure-session.ts";
import { BUILT_IN_POLICIES, type EvalPolicy } from "../../eval/measures/policies.ts";
import type { EvalSession } from "../../eval/probe/places.ts";
import { readTranscript } from "../../formats/read-transcript.ts";
import { type FormatName, sessionFormatOf } from "../../formats/registry.ts";
import { sessionFactsOf } from "../../formats/session-facts.ts";
import { redactTranscript } from "../../stages/redact.ts";
import { errorMessage } from "../../text/failure.ts";
import { asObject } from "../../text/unknown-value.ts";
import { runStages } from "../../transcript/edit.ts";
import { type Transcript, withUniqueIds } from "../../transcript/message.ts";
import { modifiedMs } from "../files/find-files.ts";
import { measureFiles, serveThread } from "../files/thread-pool.ts";
import { unpackedBytes } from "../files/unpack.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { CliError } from "../terminal/cli-error.ts";

/** Measures all files in as many threads as asked for; the outcomes are in the order of the files. */
export async function runEval({ files, setup, jobs, onOutcome }: EvalRun): Promise<readonly EvalOutcome[]> {
  const outcomes = await measureFiles({
    files,
    threads: jobs,
    createMeasure: () => createEvalJob(setup),
    argv: ["eval", "--worker"],
    workerData: setup,
    onOutcome,
  });
  return outcomes.map((outcome) => outcome ?? { status: "skipped", reason: "its thread ended early" });
}

export interface EvalRun {
  readonly files: readonly string[];
  readonly setup: EvalSetup;
  readonly jobs: number;
  readonly onOutcome: (done: number, outcome: EvalOutcome) => void;
}

/** In a thread: measures the files that the main thread sends. */
export async function runEvalWorker(): Promise<void> {
  await serveThread(await createEvalJob(workerData as EvalSetup));
}

/** What a thread needs to measure files; plain data, since it is sent to the thread. */
export interface EvalSetup extends Pick<EvalOptions, "budgetsChars" | "measures" | "steps" | "maxProbes"> {
  readonly policyNames: readonly string[];
  readonly branches: EvalBranches;
  /** Set where secrets are taken out before anything is measured. */
  readonly secrets?: "redacted";
  /** Undefined: no cache. */
  readonly cacheFolder: string | undefined;
  /** A hash of the program and of the user's own policies; part of the cache's keys. */
  readonly codeVersion: string;
}

/** The measures of one file, or why it was skipped. */
export type EvalOutcome =
  | { readonly status: "measured"; readonly measure: SessionMeasure; readonly source: "new" | "cache" }
  | { readonly status: "skipped"; readonly reason: string };

/** A function that measures one file; it never throws. */
async function createEvalJob(setup: EvalSetup): Promise<(path: string) => Promise<EvalOutcome>> {
  const policies = await loadEvalPolicies(setup.policyNames);
  const cache = setup.cacheFolder === undefined ? undefined : createEvalCache(setup.cacheFolder);
  // Speed is never cached.
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
      const read =
        setup.secrets === undefined
          ? session.session
          : { ...session.session, transcript: redacted(session.session) };
      const kept = known ?? (await measureSession(read, { ...options, measures }));
      if (known === undefined) await cache?.put(key, kept);
      const { speed } = await measureSession(read, {
        ...options,
        measures: setup.measures.filter((name) => name === "speed"),
      });
      const source = known === undefined ? "new" : "cache";
      return { status: "measured", source, measure: { ...kept, name: path, speed } };
    } catch (error) {
      return { status: "skipped", reason: errorMessage(error) };
    }
  };
}

function redacted({ transcript }: EvalSession): Transcript {
  return runStages(withUniqueIds(transcript), [redactTranscript({})]).transcript;
}

/** A hash of the program and of the user's own policies. */
export async function evalCodeVersion(policyNames: readonly string[], program: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of [program, ...policyNames.filter(isPolicyFile)]) hash.update(await readFile(file));
  return hash.digest("hex");
}

/** A session to measure on, or why there is none in a file. */
type EvalSessionFile =
  | { readonly status: "read"; readonly session: EvalSession }
  | { readonly status: "unreadable"; readonly reason: string };

/** `file`: all branches of a session in the order of the file. `live`: only the branch that would be continued. */
type EvalBranches = "file" | "live";

interface ReadEvalSessionOptions {
  /** What the session is called in reports. */
  readonly name: string;
  readonly branches: EvalBranches;
}

/** Reads a session from the bytes of a transcript file of any known format, packed or not. */
export async function readEvalSession(
  bytes: Uint8Array,
  { name, branches }: ReadEvalSessionOptions,
): Promise<EvalSessionFile> {
  const file = await readTranscript(await unpackedBytes(bytes));
  if (file.format === "unknown") return { status: "unreadable", reason: file.reason };
  const { format, wire } = file;
  const transcript = (branches === "file" ? allBranches(format, wire) : undefined) ?? file.transcript;
  const { workingDirectory } = sessionFactsOf(wire);
  return {
    status: "read",
    session: { name, format, transcript, ...(workingDirectory !== undefined && { workingDirectory }) },
  };
}

function allBranches(format: FormatName, wire: unknown): Transcript | undefined {
  const known = sessionFormatOf(format);
  if (!known?.hasBranches || !Array.isArray(wire)) return undefined;
  return known.format.decode(linesInFileOrder(wire));
}

/**
 * The lines of a session file as one chain in the order in which they were written. Abandoned branches are included:
 * the agent saw them when it worked there. Lines of sub-agents stay apart.
 */
export function linesInFileOrder(lines: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>();
  let lastId: string | null = null;
  return lines.flatMap((line) => {
    const { uuid, id, type, isSidechain, logicalParentUuid: _, ...rest } = asObject(line);
    const lineId = uuid ?? id;
    if (typeof lineId !== "string" || isSidechain === true || type === "session") return [line];
    if (seen.has(lineId)) return [];
    seen.add(lineId);
    const parent = uuid === undefined ? { id, parentId: lastId } : { uuid, parentUuid: lastId };
    lastId = lineId;
    return [{ ...rest, type, ...parent }];
  });
}

/** Loads policies by name; a name that is a path is a module of the user's own. */
export async function loadEvalPolicies(names: readonly string[]): Promise<readonly EvalPolicy[]> {
  return Promise.all(names.map((name) => (isPolicyFile(name) ? importPolicy(name) : builtIn(name))));
}

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
    throw new CliError(`Cannot load the policy ${path}: ${errorMessage(error)}`, [], { cause: error });
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

/**
 * Keeps measures in a folder, so that a run that was stopped continues where it was; numbers, never texts of a session.
 * An entry that cannot be read or written counts as missing.
 */
function createEvalCache(folder: string) {
  return {
    async get(key: string): Promise<SessionMeasure | undefined> {
      try {
        return JSON.parse(await readFile(join(folder, `${key}.json`), "utf8")) as SessionMeasure;
      } catch {
        return undefined;
      }
    },
    async put(key: string, measure: SessionMeasure): Promise<void> {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFileAtomic(join(folder, `${key}.json`), JSON.stringify(measure), { mode: 0o600 });
      } catch {
        // Measured again next time.
      }
    },
  };
}

/** Removes old entries, since each version of the program adds its own. */
export async function cleanEvalCache(folder: string, nowMs: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const ageMs = nowMs - ((await modifiedMs(path)) ?? nowMs);
    if (ageMs > MAX_AGE_MS) await rm(path, { force: true }).catch(() => undefined);
  }
}

const MAX_AGE_MS = 14 * 24 * 3_600_000;

/** The default folder of the cache: `carryover/eval` in $XDG_CACHE_HOME, else in ~/.cache. */
export function defaultEvalCacheFolder(env: NodeJS.ProcessEnv): string {
  const cacheHome = env.XDG_CACHE_HOME;
  const base = cacheHome && isAbsolute(cacheHome) ? cacheHome : join(env.HOME || homedir(), ".cache");
  return join(base, "carryover", "eval");
}
