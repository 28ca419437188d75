import { defineConfig, type ViteUserConfig } from "vitest/config";
import { TRIES_AGAIN, UnsteadyReporter } from "./test/rig/unsteady-reporter.ts";
import { COMMON, NEEDS_A_PROGRAM } from "./vitest.config.ts";

/** Tests that need a browser or a database: `npm run test:hosts` runs them beside the scenarios in the real agents. */
const config: ViteUserConfig = defineConfig({
  test: {
    ...COMMON,
    include: [...NEEDS_A_PROGRAM],
    exclude: [],
    retry: TRIES_AGAIN,
    reporters: ["default", new UnsteadyReporter(), ["json", { outputFile: "reports/hosts.json" }]],
    globalSetup: ["test/rig/fresh-build.ts"],
    // A page may take longer than the default second on a busy machine.
    expect: { poll: { timeout: 20_000 } },
  },
});

export default config;
