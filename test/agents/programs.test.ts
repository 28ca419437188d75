import { expect, it } from "vitest";
import { AGENT_PROGRAMS, createAgentWorld } from "../rig/agents/agent-programs.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { startModelServer } from "../rig/model-server/model-server.ts";
import { say } from "../rig/model-server/step.ts";

for (const agent of AGENT_PROGRAMS) {
  await describeAgent(agent, () => {
    it("runs in a home of its own and asks the scripted model", async () => {
      const server = await startModelServer();
      const world = createAgentWorld(server);
      try {
        server.script([say("Hello from the script", { times: "always" })]);
        const { code, stdout, stderr } = await agent.ask(world, { prompt: "Say hello" });
        expect(code, stderr).toBe(0);
        expect(stdout).toContain("Hello from the script");
        expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("Say hello");
      } finally {
        await server.stop();
        world.remove();
      }
    });
  });
}
