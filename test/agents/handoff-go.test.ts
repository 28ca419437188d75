import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeCodex } from "../../src/handoff/writers/session-files.ts";
import { asObject } from "../../src/text/unknown-value.ts";
import {
  type AgentWorld,
  claudeCode,
  codex,
  createAgentWorld,
  opencode,
  pi,
} from "../rig/agents/agent-programs.ts";
import { keepModel, openAgentTerminal } from "../rig/agents/agent-terminal.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { buildCli } from "../rig/build-cli.ts";
import { type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";
import { call, say } from "../rig/model-server/step.ts";
import { hasTmux, type OpenCodeScreen } from "../rig/opencode/opencode-tui.ts";

let cli: string;
let server: ModelServer;
let world: AgentWorld;
let id: string;

await describeAgent(claudeCode, () => {
  beforeAll(async () => {
    cli = await buildCli("cli-handoff-go");
    server = await startModelServer();
    world = createAgentWorld(server);
    server.script([call("Bash", { command: "seq 1 40", description: "Run" }), say("There are forty lines.")]);
    const { code, stderr } = await claudeCode.ask(world, { prompt: "Count the lines." });
    expect(code, stderr).toBe(0);
    const files = readdirSync(join(world.home, ".claude/projects"), { recursive: true, encoding: "utf8" });
    [, id = ""] = /([0-9a-f-]{36})\.jsonl/.exec(files.join("\n")) ?? [];
  });
  afterAll(async () => {
    await server?.stop();
    world?.remove();
  });

  it.skipIf(!hasTmux()).each([codex, pi, opencode, claudeCode])(
    "a session goes on in the terminal of $name with --go, which shows the conversation and takes a question",
    async (target) => {
      await target.install();
      server.discardSteps();
      const before = server.requests.length;
      server.script([say("Forty-one.", { contains: "AND ONE MORE" })]);
      const source = target === claudeCode ? writeRollout() : id.slice(0, 8);
      const screen: OpenCodeScreen = await openAgentTerminal(world, {
        agents: [claudeCode, codex, pi, opencode],
        program: [process.execPath, cli, "handoff", source, "--to", target.name, "--go"],
        isReady: /forty lines|Use existing model/,
      });
      try {
        await keepModel(screen, (text) => text.includes("There are forty lines."));
        expect(screen.text()).toContain("Handed over by Carryover from");
        expect(screen.text()).toContain("Count the lines.");
        await screen.send("AND ONE MORE");
        await screen.until((text) => text.includes("Forty-one."), "the answer");
      } finally {
        screen.stop();
      }
      const asked = server.requests.slice(before).map(({ body }) => JSON.stringify(body));
      const isWhole = (body: string): boolean =>
        body.includes("AND ONE MORE") && body.includes("39\\n40") && body.includes("There are forty lines.");
      expect(asked.filter(isWhole)).toHaveLength(1);
    },
  );
});

/** The same conversation as Codex keeps it, for Claude Code, which asks nothing when it begins. */
function writeRollout(): string {
  const file = join(world.project, "rollout.jsonl");
  const { project: cwd } = world;
  const head = { id: randomUUID(), cwd, at: Date.now(), title: "", newId: () => randomUUID() };
  const text = (says: string) => ({ type: "text", text: says }) as const;
  const result = { id: "c", tool: "exec_command", text: "38\n39\n40", isError: false };
  const lines = writeCodex(
    [
      { role: "user", blocks: [text("Count the lines.")] },
      {
        role: "assistant",
        blocks: [{ type: "call", id: "c", tool: "exec_command", input: { cmd: "seq 1 40" } }],
      },
      { role: "user", blocks: [{ type: "result", ...result }] },
      { role: "assistant", blocks: [text("There are forty lines.")] },
    ],
    head,
  );
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const settings = join(world.home, ".claude.json");
  const known: unknown = existsSync(settings) ? JSON.parse(readFileSync(settings, "utf8")) : {};
  const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
  const approved = {
    customApiKeyResponses: { approved: ["scripted-model-on-loopback".slice(-20)], rejected: [] },
  };
  const seen = { hasCompletedOnboarding: true, theme: "dark", ...approved, projects: { [cwd]: trusted } };
  writeFileSync(settings, JSON.stringify({ ...asObject(known), ...seen }));
  return file;
}
