import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { SessionMeasure } from "../../eval/measure-session.ts";

/** Keeps what was measured, so that a run that was stopped goes on where it was. Holds figures, never what a session says. */
export interface EvalCache {
  get(key: string): Promise<SessionMeasure | undefined>;
  put(key: string, measure: SessionMeasure): Promise<void>;
}

/** A cache in a folder. An entry is written whole or not at all; one that cannot be read or written is only slow. */
export function createEvalCache(folder: string): EvalCache {
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
