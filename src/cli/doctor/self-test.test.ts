import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTestContext } from "../../../test/rig/plugin-context.ts";
import { startScriptedModel } from "./scripted-model.ts";
import { runSelfTest } from "./self-test.ts";

const isPosix = process.platform !== "win32";

function program(source: string): string {
  const file = join(createTestContext().folder, "opencode");
  writeFileSync(file, `#!/usr/bin/env node\n${source}`);
  chmodSync(file, 0o755);
  return file;
}

/** Asks the configured model once, as OpenCode would without a plugin. */
const ASKS_ONCE = `
const { readFileSync } = require("node:fs");
const config = JSON.parse(readFileSync(process.env.XDG_CONFIG_HOME + "/opencode/opencode.json", "utf8"));
const url = config.provider.selftest.options.baseURL + "/chat/completions";
const tools = [{ type: "function", function: { name: "bash" } }];
fetch(url, { method: "POST", body: JSON.stringify({ messages: [], tools }) }).then((answer) => answer.text());
`;

describe.runIf(isPosix)("the self-test", () => {
  it("says what a program said that asked nothing", async () => {
    const binary = program('console.error("broken installation"); process.exit(3);');
    expect(await runSelfTest({ binary, plugin: "carryover", host: "opencode" })).toMatchObject([
      { level: "problem", what: expect.stringMatching(/exit 3.*broken installation/) },
    ]);
  });

  it("says so when there is no such program", async () => {
    expect(
      await runSelfTest({ binary: "/nowhere/opencode", plugin: "carryover", host: "opencode" }),
    ).toMatchObject([{ level: "problem", what: expect.stringContaining("ENOENT") }]);
  });

  it("notices a host that did not load the plugin", async () => {
    expect(
      await runSelfTest({ binary: program(ASKS_ONCE), plugin: "carryover", host: "opencode" }),
    ).toMatchObject([{ level: "problem", what: expect.stringContaining("was not offered fork") }]);
  });
});

it("has a model that answers anything, and listens on this machine alone", async () => {
  const model = await startScriptedModel();
  try {
    expect(new URL(model.url).hostname).toBe("127.0.0.1");
    for (const body of ["", "{", "5", '{"messages": 5, "tools": [null]}']) {
      const answer = await fetch(`${model.url}/chat/completions`, { method: "POST", body });
      expect(await answer.text()).toContain("[DONE]");
    }
    expect(model.requests).toHaveLength(4);
  } finally {
    await model.stop();
  }
});
