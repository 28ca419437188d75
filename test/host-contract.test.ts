import { describe, it } from "vitest";
import { hostContract } from "../src/testing.ts";
import { checkReadme } from "./rig/hosts/host-table.ts";
import { AI_SDK_HOST, LANGCHAIN_HOST } from "./rig/hosts/session-hosts.ts";

for (const host of [AI_SDK_HOST, LANGCHAIN_HOST]) {
  const results = hostContract({ describe, it }, host);
  it(`README says of ${host.name} what its scenarios say`, () => checkReadme(host.name, results));
}
