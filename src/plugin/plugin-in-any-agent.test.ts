import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { LINES, pluginWorksIn } from "../../test/rig/agent-host-contract.ts";
import { createFakeAgent } from "../../test/rig/fake-agent.ts";

const wait = () => new Promise<string>((resolve) => setTimeout(resolve, 1_500, "waited"));

describe("the plugin in an agent that is no OpenCode", () => {
  pluginWorksIn((options) => {
    const folder = mkdtempSync(join(tmpdir(), "carryover-agent-"));
    const agent = createFakeAgent(folder, { store: folder, ...options }, { bash: () => LINES, wait });
    onTestFinished(async () => {
      await agent.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    });
    return agent;
  });
});
