import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type EvalOptions, measureSession, type SessionMeasure } from "../../eval/measure-session.ts";
import { createEvalCache } from "./eval-cache.ts";
import { isPolicyFile, loadEvalPolicies } from "./eval-policy-file.ts";
import { type EvalBranches, readEvalSession } from "./read-eval-session.ts";

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
export async function createEvalJob(setup: EvalSetup): Promise<(path: string) => Promise<EvalOutcome>> {
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
