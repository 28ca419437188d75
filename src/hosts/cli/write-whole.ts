import { rename, rm, writeFile } from "node:fs/promises";
import { CliError } from "./cli-error.ts";

/** Writes a file at once, so that an interrupt leaves the old one or the new one, never half of it. */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { mode }: WriteWholeOptions = {},
): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content, { flush: true, ...(mode !== undefined && { mode }) });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new CliError(`Cannot write ${path}: ${(error as Error).message}`, [], { cause: error });
  }
}

export interface WriteWholeOptions {
  /** Who may read the new file; what the system gives new files when unset. */
  readonly mode?: number;
}
