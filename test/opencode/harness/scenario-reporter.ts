import type { UserConsoleLog } from "vitest";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** Prints one line for each scenario: how it went, how long it took, its name, and what it proved. */
export class ScenarioReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { proves, report } = test.meta() as { readonly proves?: string; readonly report?: string };
    const seconds = ((test.diagnostic()?.duration ?? 0) / 1_000).toFixed(1).padStart(6);
    const { state, errors } = test.result();
    const word = { passed: "pass", failed: "FAIL", skipped: "skip", pending: "wait" }[state];
    console.log(`${word} ${seconds} s  ${test.name}${proves === undefined ? "" : ` — ${proves}`}`);
    for (const error of errors ?? []) console.log(`              ${firstLines(error.message)}`);
    if (report !== undefined) console.log(`              left behind: ${report}/`);
  }

  onUserConsoleLog({ content }: UserConsoleLog): void {
    process.stdout.write(content);
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) console.log(`FAIL ${module.relativeModuleId}: ${error.stack}`);
  }
}

function firstLines(text: string): string {
  return text.split("\n").slice(0, 12).join("\n              ");
}
