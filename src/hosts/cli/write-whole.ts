import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { CliError } from "./cli-error.ts";

/** Writes a file at once, so that an interrupt leaves the old one or the new one, never half of it. */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { mode }: WriteWholeOptions = {},
): Promise<void> {
  // In a folder that others can write to, a name that can be guessed may be a link that leads elsewhere.
  const temporary = `${path}.${process.pid}-${randomBytes(8).toString("hex")}.tmp`;
  try {
    await writeFile(temporary, content, { flag: "wx", flush: true, ...(mode !== undefined && { mode }) });
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
