import type { Reporter, TestCase } from "vitest/node";

/**
 * In CI a test in another program is tried once more when it failed: a landing should not hang on a program that is not
 * ours. What passed only then is named at the end, with what went wrong at first: it is a defect to look for, here or there.
 */
export const TRIES_AGAIN: number = process.env.CI === "true" ? 1 : 0;

/** Names the tests that passed only when they were tried again. */
export class UnsteadyReporter implements Reporter {
  readonly #lines: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const reason = test.result().errors?.[0]?.message.split("\n", 1)[0] ?? "";
    this.#lines.push(`unsteady: ${test.fullName} (${test.module.relativeModuleId}): ${reason}`);
  }

  onTestRunEnd(): void {
    if (this.#lines.length > 0) console.log(`\n${this.#lines.join("\n")}`);
  }
}
