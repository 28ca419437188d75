import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A name for this home that no other machine has, the same for every program in it: it lies in a small file, since host
 * names and paths are alike in a fleet. Where none can be kept the program stands alone.
 */
export function homeName(folder: string): string {
  const file = join(folder, "home");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(file, randomUUID(), { flag: "wx", mode: 0o600 });
  } catch {
    // The file exists already, or cannot be written; reading shows which.
  }
  for (let attempt = 1; attempt <= MAX_LOOKS; attempt += 1) {
    const name = readName(file);
    if (name !== undefined) return name;
  }
  return randomUUID();
}

/** The name of a home that has one; creates none. */
export function knownHomeName(folder: string): string | undefined {
  return readName(join(folder, "home"));
}

/** Another program may have made the file and not yet written into it. */
const MAX_LOOKS = 100;

function readName(file: string): string | undefined {
  try {
    const name = readFileSync(file, "utf8").trim();
    return /^[0-9a-f-]{36}$/.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}
