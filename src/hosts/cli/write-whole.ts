import { rename, rm, writeFile } from "node:fs/promises";
import { CliError } from "./cli-error.ts";

/** Writes a file at once, so that an interrupt leaves the old one or the new one, never half of it. */
export async function writeWhole(path: string, content: string): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, content);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new CliError(`Cannot write ${path}: ${(error as Error).message}`, [], { cause: error });
  }
}
