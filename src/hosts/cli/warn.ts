import type { InputFile } from "./read-input.ts";

/** Says on standard error what was passed over in a file. */
export function warn({ name, warnings }: Pick<InputFile, "name" | "warnings">): void {
  for (const warning of warnings.slice(0, MAX_WARNINGS))
    process.stderr.write(`warning: ${name}: ${warning}; the rest is used\n`);
  const more = warnings.length - MAX_WARNINGS;
  if (more > 0) process.stderr.write(`warning: ${name}: ${more} more like that\n`);
}

const MAX_WARNINGS = 10;
