import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { LoadPg, PgModule } from "./postgres-pool.ts";

/** Loads the package `pg` from where this program is, else from the first of these folders that has it. */
export function createLoadPg(folders: readonly string[] = [], load: LoadPg = loadPg): LoadPg {
  return () =>
    load().catch(async (cause: unknown) => {
      for (const folder of folders) {
        const path = resolveFrom(folder);
        if (path !== undefined) return (await import(pathToFileURL(path).href)) as unknown as PgModule;
      }
      throw cause;
    });
}

const loadPg: LoadPg = async () => (await import("pg")) as unknown as PgModule;

function resolveFrom(folder: string): string | undefined {
  try {
    return createRequire(join(folder, "any.js")).resolve("pg");
  } catch {
    return undefined;
  }
}
