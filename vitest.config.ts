import { availableParallelism } from "node:os";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";

/** What needs a browser, a database, shells, another agent or a long time; `npm run test:hosts` runs it (vitest.hosts.config.ts). */
export const NEEDS_A_PROGRAM: readonly string[] = [
  "test/inspector/{page*,html,live,security-browser}.test.ts",
  "test/stores/{postgres-*,kill,processes}.test.ts",
  "test/soak/*.test.ts",
  "test/{cli-opencode,cli-opencode2,cli-completion}.test.ts",
  "test/rig/opencode/start-opencode.test.ts",
  "test/ai-sdk/tool-loop.test.ts",
  "test/agents/*.test.ts",
  "test/agent/long-session.test.ts",
];

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...NEEDS_A_PROGRAM],
    setupFiles: ["test/rig/setup.ts"],
    // Many tests wait for processes and disks: two workers pay even on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

export default config;
