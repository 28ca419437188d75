import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "vitest";
import { agentHostContract } from "../../test/rig/agent-host-contract.ts";
import { createFakeAgent } from "../../test/rig/fake-agent.ts";
import { removeFolder } from "../../test/rig/remove-folder.ts";

const wait = () => new Promise<string>((resolve) => setTimeout(resolve, 1_500, "waited"));

for (const { name, results } of [
  { name: "an agent that is no OpenCode", results: "carried" },
  { name: "an agent that delivers every message once", results: "inbox" },
] as const)
  agentHostContract(
    // Most of the time they wait, and each has an agent and a folder of its own.
    { describe, it: it.concurrent },
    {
      name,
      start({ options: given, output }) {
        const directory = mkdtempSync(join(tmpdir(), "carryover-agent-"));
        const options = { store: directory, ...given };
        const agent = createFakeAgent({ directory, options, results, tools: { bash: () => output, wait } });
        return {
          ...agent,
          async stop() {
            await agent.stop();
            removeFolder(directory);
          },
        };
      },
    },
  );
