import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { HOST_SCENARIOS, type HostResults } from "../../../src/testing.ts";

/** What a host can do as one row of the table in the README, from what came of the scenarios. */
export function hostRow(name: string, results: HostResults): string {
  const cells = HOST_SCENARIOS.map((scenario) => WORDS[results.get(scenario)?.status ?? "failed"]);
  return `| ${[name, ...cells].join(" | ")} |`;
}

const WORDS = { can: "yes", cannot: "no", failed: "failed" } as const;

export const HOST_TABLE_HEAD: readonly string[] = [
  `| | ${HOST_SCENARIOS.join(" | ")} |`,
  `|${"---|".repeat(HOST_SCENARIOS.length + 1)}`,
];

/** Throws where the README says something else of a host than its scenarios did. */
export function checkReadme(name: string, results: HostResults): void {
  // Where a test was asked for by name, the others were not played.
  if (results.size < HOST_SCENARIOS.length) return;
  const readme = readFileSync(resolve(import.meta.dirname, "../../../README.md"), "utf8");
  const reasons = [...results.values()].flatMap((result) => ("why" in result ? [result.why] : []));
  for (const wanted of [HOST_TABLE_HEAD[0] ?? "", hostRow(name, results), ...reasons])
    if (!readme.includes(wanted)) throw new Error(`README.md does not have: ${wanted}`);
}
