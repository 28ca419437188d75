import type { Colors } from "../terminal/output.ts";

/** One row of a doctor's table: what is looked at, how, and what to do where it is not well. */
export interface Check<Facts> {
  /** Its name, for `--json`. */
  readonly check: string;
  /** `before` is what the rows above have found. */
  readonly run: (facts: Facts, before: readonly Finding[]) => Said | Promise<Said>;
  /** For verdicts without advice of their own. */
  readonly advice?: string | ((facts: Facts) => string);
}

/** Undefined where there is nothing to say. */
type Said = Verdict | readonly Verdict[] | undefined;

/** What a check says. */
export interface Verdict {
  /** Only a `problem` needs something done; a `note` is worth knowing. */
  readonly level: "ok" | "note" | "problem";
  readonly what: string;
  /** What to do. */
  readonly advice?: string | undefined;
  /** Another name than that of the row, where one look answers several questions. */
  readonly check?: string;
}

export interface Finding extends Verdict {
  readonly check: string;
}

export const ok = (what: string): Verdict => ({ level: "ok", what });
export const note = (what: string, advice?: string): Verdict => ({ level: "note", what, advice });
export const problem = (what: string, advice?: string): Verdict => ({ level: "problem", what, advice });

/** The same verdict under another name. */
export const as = (check: string, verdict: Verdict): Verdict => ({ ...verdict, check });

/** Runs a table from its first row to its last. */
export async function runChecks<Facts>(
  checks: readonly Check<Facts>[],
  facts: Facts,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { check: name, run, advice: ofRow } of checks) {
    const usual = typeof ofRow === "function" ? ofRow(facts) : ofRow;
    for (const { check = name, level, what, advice = usual } of [(await run(facts, findings)) ?? []].flat())
      findings.push({ check, level, what, ...(level !== "ok" && { advice }) });
  }
  return findings;
}

/** True where something has to be done. */
export function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some(({ level }) => level === "problem");
}

/** The findings for the terminal, each with its advice below it. */
export function renderFindings(findings: readonly Finding[], colors: Colors): string {
  const labels = { ok: colors.dim("ok"), note: colors.bold("note"), problem: colors.red("problem") };
  const lines = findings.flatMap(({ level, what, advice }) => [
    `${labels[level]}${" ".repeat(9 - level.length)}${what}`,
    ...(advice === undefined ? [] : [`${" ".repeat(9)}→ ${advice}`]),
  ]);
  return `${lines.join("\n")}\n`;
}
