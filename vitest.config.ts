import { availableParallelism } from "node:os";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";

/** What needs a browser, a database, shells, another agent or a long time; `npm run test:hosts` runs it (vitest.hosts.config.ts). */
export const NEEDS_A_PROGRAM: readonly string[] = [
  "test/inspector/{page*,html,live,security-browser}.test.ts",
  "test/stores/{postgres-*,kill,processes}.test.ts",
  "test/soak/*.test.ts",
  "test/{cli-opencode,cli-opencode2,cli-completion}.test.ts",
  "test/rig/opencode/start-opencode.test.ts",
  "test/ai-sdk/{tool-loop,gemini-signatures-before}.test.ts",
  "test/agents/*.test.ts",
  "test/agent/long-session.test.ts",
];

/** These files share a process, since loading the same modules for each takes longer than many tests. They clean up behind themselves. */
const SHARE_A_PROCESS: readonly string[] = [
  "src/**/*.test.ts",
  "test/{ai-sdk,langchain}/**/*.test.ts",
  // Those that are left out start programs of ours.
  "test/!(cli-*|eval-*|examples|packed-files|supply-chain).test.ts",
];

/** A hook of its ends the process, which only a process of its own survives. */
const NEEDS_A_PROCESS = "src/compaction/compact-hook-faults.test.ts";

/** What every run of tests has. */
export const COMMON: NonNullable<ViteUserConfig["test"]> = {
  setupFiles: ["test/rig/setup.ts"],
  // Many tests wait for processes and disks: two workers pay even on two cores.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // A property with all its runs takes longer, the more so beside other work.
  testTimeout: process.env.CARRYOVER_LONG === undefined ? 120_000 : 900_000,
  hookTimeout: 120_000,
};

const config: ViteUserConfig = defineConfig({
  test: {
    ...COMMON,
    projects: [
      {
        extends: true,
        test: {
          name: "rooms",
          isolate: false,
          include: [...SHARE_A_PROCESS],
          exclude: [...configDefaults.exclude, ...NEEDS_A_PROGRAM, NEEDS_A_PROCESS],
        },
      },
      {
        extends: true,
        test: {
          name: "world",
          include: [NEEDS_A_PROCESS, "test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...NEEDS_A_PROGRAM, ...SHARE_A_PROCESS.slice(1)],
        },
      },
    ],
  },
});

export default config;
