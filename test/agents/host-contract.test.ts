import { afterAll, beforeAll, describe, it } from "vitest";
import { hostContract } from "../../src/testing.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { unpackCli } from "../rig/agents/packed-cli.ts";
import { checkReadme } from "../rig/hosts/host-table.ts";
import { asHostUnderTest, PROGRAM_HOSTS } from "../rig/hosts/program-hosts.ts";

let cli = "";
beforeAll(() => {
  cli = unpackCli();
});

for (const program of PROGRAM_HOSTS)
  await describeAgent(program.program, () => {
    const host = asHostUnderTest(program, () => cli);
    afterAll(() => host.close());
    const results = hostContract({ describe, it }, host);
    it("README says what its scenarios say", () => checkReadme(host.name, results));
  });
