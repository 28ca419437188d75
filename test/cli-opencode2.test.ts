import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askHost } from "../src/cli/doctor/ask-host.ts";
import { diagnoseOpencode } from "../src/cli/doctor/opencode.ts";
import { FORK_OWN_TOOLS } from "../src/fork/context/options.ts";
import { buildCli, buildServer } from "./rig/build-cli.ts";
import { type ModelServer, startModelServer } from "./rig/model-server/model-server.ts";
import { call, say } from "./rig/model-server/step.ts";
import { createSandbox, LONG_WINDOW, writeConfig } from "./rig/opencode/sandbox.ts";
import { writeSetUp } from "./rig/opencode/set-ups.ts";
import { SET_UPS_2 } from "./rig/opencode2/set-ups2.ts";
import {
  findOpencode2,
  NO_OPENCODE2,
  type Opencode2,
  startOpencode2,
} from "./rig/opencode2/start-opencode2.ts";
import { createCliRunner } from "./rig/run-cli.ts";

const binary = findOpencode2();
if (binary === undefined) console.log(`cli-opencode2: ${NO_OPENCODE2}`);

let cli = "";
const carryover = createCliRunner(() => cli);

describe.skipIf(binary === undefined)("a session of OpenCode 2", () => {
  let model: ModelServer;
  let host: Opencode2;
  let sessionId = "";

  beforeAll(async () => {
    cli = await buildCli("cli-opencode2");
    model = await startModelServer();
    host = await startOpencode2({ modelUrl: model.url });
    sessionId = await host.createSession("the newest", LONG_WINDOW);
    model.script([call("shell", { command: "seq 1 200" }), say("Counted.")]);
    await host.prompt(sessionId, "Count.");
  }, 120_000);
  afterAll(async () => {
    await host?.stop();
    await model?.stop();
  });

  it("says to the doctor whether it has our tools", async () => {
    const { sandbox } = host;
    const ask = () =>
      askHost({ binary: binary ?? "", directory: sandbox.project, env: sandbox.env, host: "opencode2" });
    expect(await ask()).toMatchObject({ status: "answered", tools: [], agents: [{ name: "build" }, {}] });
    const plugin = [pathToFileURL(await buildServer("cli-opencode2")).href];
    writeConfig(sandbox, { modelUrl: model.url, config: { plugin } });
    expect(await ask()).toMatchObject({ tools: FORK_OWN_TOOLS, agents: [{ refused: [] }, {}] });
  });

  it.each([{ args: ["--json"] }, { args: ["inspect", "--json"] }])(
    "is found as the newest, and read through its program: $args",
    async ({ args }) => {
      const env = { ...host.sandbox.env, OPENCODE_BIN: binary ?? "" };
      const { status, stdout, stderr } = await carryover(args, { env });
      expect({ status, stderr }).toMatchObject({ status: 0 });
      expect(JSON.parse(stdout)).toMatchObject({ format: "opencode2", sessionId });
    },
  );

  it("is what `export` writes to every command that takes a file", async () => {
    const file = join(host.sandbox.root, "session.json");
    writeFileSync(file, JSON.stringify(await host.exportSession(sessionId)));
    for (const args of [["stats"], ["fork"], ["compact", "--local"], ["eval", "--jobs", "1"]]) {
      const [command = "", ...options] = args;
      const { status, stdout, stderr } = await carryover([command, file, ...options], {
        env: host.sandbox.env,
      });
      expect({ command, status, stderr }).toMatchObject({ status: 0 });
      expect(stdout).not.toBe("");
    }
  }, 60_000);

  // The last: it makes a newer session.
  it("without a person waits for its forks", async () => {
    const { sandbox } = host;
    const plugin = [pathToFileURL(await buildServer("cli-opencode2")).href];
    writeConfig(sandbox, { modelUrl: model.url, config: { plugin } });
    model.script([
      call("fork", { prompt: "Which cat?", title: "cat" }, { contains: "Fork it." }),
      say("The grey one.", { contains: "<task>", delayMs: 1_500 }),
      say("It was the grey one.", { contains: "The grey one." }),
    ]);
    const { code, stdout } = await host.runCommand("run", "--standalone", "--auto", "Fork it.");
    expect(code).toBe(0);
    expect(stdout).toContain("It was the grey one.");
  }, 60_000);

  it("without a person refuses at once what a fork asks for", async () => {
    const { sandbox } = host;
    const plugin = [pathToFileURL(await buildServer("cli-opencode2")).href];
    const permission = { "*": "allow", bash: "ask" };
    writeConfig(sandbox, { modelUrl: model.url, config: { plugin, permission } });
    model.script([
      call("fork", { prompt: "Greet.", title: "greet" }, { contains: "Fork and greet." }),
      call("shell", { command: "echo hello > greeted.txt" }, { contains: "<task>" }),
      say("I was not allowed to.", { contains: "Tool execution interrupted" }),
      say("It was not allowed to.", { contains: "I was not allowed to." }),
    ]);
    const { code, stdout } = await host.runCommand("run", "--standalone", "Fork and greet.");
    expect(code).toBe(0);
    expect(stdout).toContain("It was not allowed to.");
    expect(existsSync(join(sandbox.project, "greeted.txt"))).toBe(false);
  }, 120_000);
});

describe.skipIf(binary === undefined)("the doctor with OpenCode 2", () => {
  const played = SET_UPS_2.filter(({ name }) =>
    /and the part for the terminal|OpenCode 1 alone|a folder|options beside|options that are wrong|a pair of/.test(
      name,
    ),
  );

  it.each(played)("$name", { timeout: 120_000 }, async (setUp) => {
    const sandbox = createSandbox();
    try {
      const plugin = join(sandbox.root, "carryover.mjs");
      cpSync(await buildServer("cli-opencode2"), plugin);
      writeSetUp(sandbox.home, setUp, plugin);
      const findings = await diagnoseOpencode({
        directory: sandbox.project,
        env: sandbox.env,
        opencode: binary ?? "",
        store: join(sandbox.root, "store"),
        selfTest: true,
      });
      const problems = findings.filter(({ level }) => level === "problem").map(({ what }) => what);
      if (setUp.problem === undefined) expect(problems).toEqual([]);
      else expect(problems.join("\n")).toMatch(setUp.problem);
      expect(findings.find(({ check }) => check === "registered")?.level).toBe(
        setUp.registered ? "ok" : "problem",
      );
      const played = findings.filter(({ check }) => check.startsWith("self-test"));
      expect(played.map(({ level, what }) => ({ level, what }))).toEqual(
        setUp.registered
          ? [
              "the model is offered our four tools",
              "a long tool output reaches the model cut, with a handle",
              "a fork's request begins with its parent's conversation",
              "a fork's result reaches its parent",
            ].map((what) => ({ level: "ok", what }))
          : [],
      );
    } finally {
      sandbox.remove();
    }
  });
});
