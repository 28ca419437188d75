import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostContract } from "../../src/testing.ts";
import type { OpenClawWorld } from "../rig/agents/openclaw-program.ts";
import { createOpenClawWorld, installOpenClaw, OPENCLAW_VERSION } from "../rig/agents/openclaw-program.ts";
import { unpackCli } from "../rig/agents/packed-cli.ts";
import { checkReadme } from "../rig/hosts/host-table.ts";
import { openClawHost } from "../rig/hosts/openclaw-host.ts";
import { type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";
import { call, say } from "../rig/model-server/step.ts";

const name = `the context engine in OpenClaw ${OPENCLAW_VERSION}`;
const problem = await installOpenClaw().then(
  () => undefined,
  (error: Error) => error.message,
);

if (problem !== undefined && process.env.CI === "true")
  it(`${name} can be had`, () => Promise.reject(new Error(problem)));
else
  describe.skipIf(problem !== undefined)(
    problem === undefined ? name : `${name} is skipped: ${problem}`,
    () => {
      let server: ModelServer;
      let world: OpenClawWorld;
      beforeAll(async () => {
        server = await startModelServer();
        world = createOpenClawWorld(server, dirname(dirname(unpackCli())));
      });
      afterAll(async () => {
        await server.stop();
        await world.remove();
      });

      const sent = (index: number): string => JSON.stringify(server.requests.at(index)?.body.messages);
      const tools = (): string => JSON.stringify(server.requests.at(-1)?.body.tools);

      const host = openClawHost(unpackCli);
      afterAll(() => host.close());
      const results = hostContract(
        { describe, it: (title, run) => it(title, { timeout: 700_000 }, run) },
        host,
      );
      it("README says what its scenarios say", () => checkReadme(host.name, results));

      it("trims an output, and in another process leaves it so and recalls the rest", {
        timeout: 700_000,
      }, async () => {
        server.script([call("exec", { command: "seq 1 6000" }), say("Seen.")]);
        const first = await world.ask("Look.");
        expect(first.code, first.stderr + first.stdout).toBe(0);
        expect(sent(-1)).toMatch(/5998\\n5999\\n6000/);
        expect(sent(-1)).not.toMatch(/3000\\n3001/);
        expect(tools()).toContain('"recall"');
        const shown = /"role":"tool","content":"((?:[^"\\]|\\.)*)"/.exec(sent(-1))?.[1] ?? "";
        expect(shown.length).toBeGreaterThan(1_000);

        server.script([call("recall", { search: "3000" }), say("Read.")]);
        const second = await world.ask("Again.");
        expect(second.code, second.stderr + second.stdout).toBe(0);
        // The engine gives the turn before back as it was sent.
        expect(sent(-2)).toContain(shown);
        expect(sent(-1)).toContain("3000: 3000");
      });
    },
  );
