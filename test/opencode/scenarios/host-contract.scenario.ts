import { describe, it } from "vitest";
import { hostContract } from "../../../src/testing.ts";
import { checkReadme } from "../../rig/hosts/host-table.ts";
import { openCodeHost } from "../harness/opencode-host.ts";
import { describeHosts } from "../harness/scenario.ts";

describeHosts("the contract of a host", ({ name, shareRig }) => {
  const host = openCodeHost(name === "opencode" ? "OpenCode 1" : "OpenCode 2", shareRig({ plugin: {} }).open);
  const results = hostContract({ describe, it }, host);
  it(`README says of ${host.name} what its scenarios say`, () => checkReadme(host.name, results));
});
