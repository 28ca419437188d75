import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTranscript } from "../src/formats/read-transcript.ts";
import { filterCompacted } from "../src/stages/boundary.ts";
import { renderMessage } from "../src/transcript/content.ts";
import { buildCli } from "./rig/build-cli.ts";
import { OPENCODE_VERSION } from "./rig/opencode/install-opencode.ts";
import { runOpenCode } from "./rig/opencode/run-opencode.ts";
import { createSandbox } from "./rig/opencode/sandbox.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const root = resolve(import.meta.dirname, "..");
const platform = `opencode-${process.platform}-${process.arch}`;
const binary = join(root, ".rig", `opencode-${OPENCODE_VERSION}`, "node_modules", platform, "bin/opencode");
const isThere = existsSync(binary);
if (!isThere)
  console.log("cli-opencode: skipped, the rig has no OpenCode yet (npm run test:opencode installs it)");

const session = join(root, "examples/sessions/opencode-session.json");
const sessionId: string = JSON.parse(readFileSync(session, "utf8")).info.id;
let cli = "";
const carryover = createCliRunner(() => cli);

/** What a model would read of a session. */
async function windowOf(text: string): Promise<readonly string[]> {
  return filterCompacted((await readTranscript(Buffer.from(text))).transcript)
    .map(renderMessage)
    .filter((rendered) => rendered !== "");
}

describe.skipIf(!isThere)("what is written for OpenCode", () => {
  const sandboxes: ReturnType<typeof createSandbox>[] = [];

  beforeAll(async () => {
    cli = await buildCli("cli-opencode");
  });
  afterAll(() => {
    for (const sandbox of sandboxes) sandbox.remove();
  });

  it.each([
    ["compact", "--local"],
    ["fork", "--as", "messages"],
  ])("by %s is a session that OpenCode imports, reads alike and finds again", async (command, ...flags) => {
    const sandbox = createSandbox();
    sandboxes.push(sandbox);
    const out = join(sandbox.root, "written.json");
    const { status, stderr } = await carryover([command ?? "", session, ...flags, "--out", out]);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const imported = await runOpenCode({ binary, sandbox, args: ["import", out] });
    expect(imported).toMatchObject({ code: 0 });
    const { stdout } = await runOpenCode({ binary, sandbox, args: ["export", sessionId] });
    expect(await windowOf(stdout)).toEqual(await windowOf(readFileSync(out, "utf8")));

    const found = await carryover(["--json"], { env: { ...sandbox.env, OPENCODE_BIN: binary } });
    expect(JSON.parse(found.stdout)).toMatchObject({ format: "opencode", sessionId });
  });
});
