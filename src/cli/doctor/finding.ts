import type { Colors } from "../terminal/output.ts";

/** The result of one check of `carryover doctor`. */
export interface Finding {
  /** The name of the check, for `--json`. */
  readonly check: string;
  /** Only a `problem` needs something done; a `note` is worth knowing. */
  readonly level: "ok" | "note" | "problem";
  readonly what: string;
  /** What to do. */
  readonly advice?: string;
}

/** The findings for the terminal, each with its advice below it. */
export function renderFindings(findings: readonly Finding[], colors: Colors): string {
  const labels = { ok: colors.dim("ok"), note: colors.bold("note"), problem: colors.red("problem") };
  const lines = findings.flatMap(({ level, what, advice }) => [
    `${labels[level]}${" ".repeat(9 - level.length)}${what}`,
    ...(advice === undefined || level === "ok" ? [] : [`${" ".repeat(9)}→ ${advice}`]),
  ]);
  return `${lines.join("\n")}\n`;
}
