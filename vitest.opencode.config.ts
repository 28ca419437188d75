import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { ScenarioReporter } from "./test/opencode/harness/scenario-reporter.ts";
import { TRIES_AGAIN, UnsteadyReporter } from "./test/rig/unsteady-reporter.ts";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/opencode/**/*.scenario.ts"],
    setupFiles: ["test/rig/setup.ts"],
    globalSetup: ["test/rig/fresh-build.ts", "test/opencode/harness/global-setup.ts"],
    // A scenario computes for three seconds and waits for the rest.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 180_000,
    retry: TRIES_AGAIN,
    hookTimeout: 60_000,
    reporters: [
      new ScenarioReporter(),
      new UnsteadyReporter(),
      ["json", { outputFile: process.env.CARRYOVER_OPENCODE_RESULTS ?? "reports/opencode.json" }],
    ],
  },
});

export default config;
