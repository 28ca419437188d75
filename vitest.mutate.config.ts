import { defineConfig, type ViteUserConfig } from "vitest/config";

const rooms = (process.env.CARRYOVER_MUTATE_TESTS ?? "src").split(",");

const config: ViteUserConfig = defineConfig({
  test: {
    include: rooms.map((room) => `${room}/**/*.test.ts`),
    setupFiles: ["test/support/setup.ts"],
    testTimeout: 60_000,
  },
});

export default config;
