import { HOST_SCENARIOS, type HostUnderTest, hostContract } from "../src/testing.ts";
import { setup } from "../test/opencode/harness/global-setup.ts";
import type { OpenHostRig } from "../test/opencode/harness/host-rig.ts";
import { openCodeHost } from "../test/opencode/harness/opencode-host.ts";
import { createRig } from "../test/opencode/harness/rig.ts";
import { createRig2 } from "../test/opencode/harness/rig2.ts";
import { unpackCli } from "../test/rig/agents/packed-cli.ts";
import { HOST_TABLE_HEAD, hostRow } from "../test/rig/hosts/host-table.ts";
import { openClawHost } from "../test/rig/hosts/openclaw-host.ts";
import { asHostUnderTest, PROGRAM_HOSTS } from "../test/rig/hosts/program-hosts.ts";
import { AI_SDK_HOST, LANGCHAIN_HOST } from "../test/rig/hosts/session-hosts.ts";

// Plays the contract of a host in every host, or in those that are named, and prints the table of the README.
type ClosableHost = HostUnderTest & { close?(): Promise<void> };

const hosts: readonly ClosableHost[] = [
  sharedOpenCode("OpenCode 1", () => createRig({ plugin: {} })),
  sharedOpenCode("OpenCode 2", () => createRig2({ plugin: {} })),
  ...PROGRAM_HOSTS.map((host) => asHostUnderTest(host, unpackCli)),
  openClawHost(unpackCli),
  AI_SDK_HOST,
  LANGCHAIN_HOST,
];
const named = process.argv.slice(2).map((name) => name.toLowerCase());
const rows: string[] = [];
for (const host of hosts)
  if (named.length === 0 || named.some((name) => host.name.toLowerCase().startsWith(name)))
    rows.push(await play(host));
console.log([...HOST_TABLE_HEAD, ...rows].join("\n"));

async function play(host: ClosableHost): Promise<string> {
  const tests: (() => Promise<void>)[] = [];
  const results = hostContract({ describe: (_, define) => define(), it: (_, run) => tests.push(run) }, host);
  for (const [index, run] of tests.entries())
    await run().catch((error: unknown) =>
      console.error(`${host.name}, ${HOST_SCENARIOS[index]}: ${String(error).slice(0, 300)}`),
    );
  await host.close?.();
  return hostRow(host.name, results);
}

function sharedOpenCode(name: string, create: () => Promise<OpenHostRig>): ClosableHost {
  let opening: Promise<OpenHostRig> | undefined;
  const open = (): Promise<OpenHostRig> => {
    opening ??= setup().then(create);
    return opening;
  };
  const close = async (): Promise<void> => (await opening?.catch(() => undefined))?.stop();
  return { ...openCodeHost(name, open), close };
}
