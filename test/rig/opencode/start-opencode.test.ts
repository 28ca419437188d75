import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rigFolder } from "../install-program.ts";
import { type ModelServer, startModelServer } from "../model-server/model-server.ts";
import { call, say } from "../model-server/step.ts";
import { OPENCODE_VERSION } from "./install-opencode.ts";
import { ANTHROPIC_WINDOW } from "./sandbox.ts";
import { type OpenCode, startOpenCode } from "./start-opencode.ts";

const isInstalled = existsSync(join(rigFolder(), `opencode-${OPENCODE_VERSION}`));
if (!isInstalled) console.log("skipped: the real OpenCode is not installed (npm test installs it)");

describe.skipIf(!isInstalled)("the real OpenCode", () => {
  let model: ModelServer;
  let opencode: OpenCode;

  beforeAll(async () => {
    model = await startModelServer();
    opencode = await startOpenCode({ modelUrl: model.url });
  });

  afterAll(async () => {
    await opencode?.stop();
    await model?.stop();
  });

  it("plays a turn with a tool, and exports it", async () => {
    model.script([call("bash", { command: "cat README.md", description: "Show" }), say("That is all.")]);
    const sessionId = await opencode.createSession("A session");
    await opencode.prompt(sessionId, { text: "What is here?" });
    const parts = (await opencode.messages(sessionId)).flatMap((message) => message.parts);
    expect(parts.find((part) => part.type === "tool")).toMatchObject({
      tool: "bash",
      state: { status: "completed", output: "# Project\n" },
    });
    const exported = JSON.parse(await opencode.runCommand("export", sessionId));
    expect(exported).toMatchObject({ info: { id: sessionId, version: OPENCODE_VERSION } });
    expect(exported.messages).toHaveLength(3);
  });

  it("talks to the scripted model over the Anthropic wire too", async () => {
    model.script([
      call(
        "bash",
        { command: "echo hello", description: "Greet" },
        { reasoning: "A greeting.", text: "I greet." },
      ),
      say("Greeted."),
    ]);
    const sessionId = await opencode.createSession("Anthropic");
    await opencode.prompt(sessionId, { text: "Greet.", model: ANTHROPIC_WINDOW });
    const requests = model.requests.filter((each) => each.wire === "anthropic" && each.lane === "main");
    expect(requests.map((each) => each.sessionId)).toEqual([sessionId, sessionId]);
    expect(requests[1]?.body.messages).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: [{ type: "thinking" }, { type: "text" }, { type: "tool_use", name: "bash" }],
      },
      { role: "user", content: [{ type: "tool_result" }] },
    ]);
  });

  it.skipIf(process.platform !== "linux")("leaves no process behind, not even a running tool", async () => {
    model.script([call("bash", { command: "sleep 987", description: "Sleep" })]);
    const other = await startOpenCode({ modelUrl: model.url });
    const sessionId = await other.createSession("Stopped");
    await other.promptInBackground(sessionId, { text: "Sleep." });
    await expect.poll(() => processesIn(other.sandbox.home), { timeout: 20_000 }).toContain("sleep 987");
    await other.stop();
    await expect.poll(() => processesIn(other.sandbox.home)).toEqual([]);
    expect(existsSync(other.sandbox.home)).toBe(false);
  });
});

/** The command lines of everything that runs with this home folder. */
function processesIn(home: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${home}`)) return [];
        return [readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").join(" ").trim()];
      } catch {
        return []; // It ended meanwhile.
      }
    });
}
