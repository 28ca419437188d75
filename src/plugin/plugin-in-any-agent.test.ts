import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { LINES, pluginWorksIn } from "../../test/rig/agent-host-contract.ts";
import { createFakeAgent } from "../../test/rig/fake-agent.ts";

const wait = () => new Promise<string>((resolve) => setTimeout(resolve, 1_500, "waited"));

describe.each([
  { name: "the plugin in an agent that is no OpenCode", results: "carried" },
  { name: "the plugin in an agent that delivers every message once", results: "inbox" },
] as const)("$name", ({ results }) => {
  pluginWorksIn((given) => {
    const directory = mkdtempSync(join(tmpdir(), "carryover-agent-"));
    const options = { store: directory, ...given };
    const agent = createFakeAgent({ directory, options, results, tools: { bash: () => LINES, wait } });
    onTestFinished(async () => {
      await agent.stop();
      rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    });
    return agent;
  });
});
