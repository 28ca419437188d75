import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { anthropic } from "../../src/formats/wires/anthropic/anthropic.ts";
import { openaiResponses } from "../../src/formats/wires/openai-responses/openai-responses.ts";
import { normalizeOutput } from "../../src/text/normalize.ts";
import { outcomeText } from "../../src/transcript/content.ts";
import {
  type AgentProgram,
  type AgentWorld,
  claudeCode,
  codex,
  createAgentWorld,
} from "../rig/agents/agent-programs.ts";
import { isClaudeCodesOwnRefusal } from "../rig/agents/claude-code-refusal.ts";
import { describeAgent } from "../rig/agents/describe-agent.ts";
import { OUTPUT_KINDS } from "../rig/agents/output-kinds.ts";
import { unpackCli } from "../rig/agents/packed-cli.ts";
import { type ModelRequest, type ModelServer, startModelServer } from "../rig/model-server/model-server.ts";
import { type ScriptedCall, type Step, say } from "../rig/model-server/step.ts";

interface HookedAgent {
  readonly program: AgentProgram;
  readonly install: readonly string[];
  readonly run: (command: string) => ScriptedCall;
  readonly recall: (input: object) => ScriptedCall;
  /** Says a prompt in a new session and gives its id. */
  readonly begin: (world: AgentWorld, prompt: string) => Promise<string>;
  /** Has the agent sum up, and then says a prompt. */
  readonly compact: (world: AgentWorld, session: string, prompt: string) => Promise<void>;
  /** What is restored of the first session. */
  readonly restored: string;
  /** How many of the forty outputs are trimmed. */
  readonly trimmed: number;
  /** Lines that are too many, and in Codex few enough that the hook is given all. */
  readonly lines: number;
}

const CLAUDE_CODE: HookedAgent = {
  program: claudeCode,
  install: ["install", "claude-code"],
  run: (command) => ({ tool: "Bash", input: { command, description: "Run" } }),
  recall: (input) => ({ tool: "mcp__plugin_carryover_carryover__recall", input }),
  async begin(world, prompt) {
    const args = ["-p", "--dangerously-skip-permissions", "--output-format", "json", prompt];
    const { code, stdout, stderr } = await claudeCode.run(world, args);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout).session_id;
  },
  async compact(world, session, prompt) {
    server.script([say("<summary>It was counted.</summary>"), say("Going on.")]);
    expect(await claudeCode.ask(world, { prompt: "/compact", session })).toMatchObject({ code: 0 });
    expect(JSON.stringify(last().body)).toContain("Keep what the user said and asked for");
    await claudeCode.ask(world, { prompt, session });
  },
  restored: "Count far, please #pin",
  trimmed: 9,
  lines: 20_000,
};

const PLAN = { plan: [{ step: "count again", status: "pending" }] };

const CODEX: HookedAgent = {
  program: codex,
  install: ["install", "codex", "--trust"],
  run: (cmd) => ({ tool: "exec_command", input: { cmd } }),
  recall: (input) => ({ tool: "recall", namespace: "mcp__carryover", input }),
  async begin(world, prompt) {
    const { code, stdout, stderr } = await codex.run(world, [
      "exec",
      "--skip-git-repo-check",
      "--json",
      prompt,
    ]);
    expect(code, stderr).toBe(0);
    return /"thread_id":"([^"]+)"/.exec(stdout)?.[1] ?? "";
  },
  async compact(world, session, prompt) {
    const full = { inputTokens: 90_000, outputTokens: 10 };
    server.script([
      calls([this.run("echo full"), { tool: "update_plan", input: PLAN }], { usage: full }),
      say("It was counted."),
      say("Going on."),
    ]);
    const limit = ["-c", "model_auto_compact_token_limit=80000"];
    const { code, stderr } = await codex.run(world, [
      ...limit,
      "exec",
      "resume",
      session,
      "--skip-git-repo-check",
      prompt,
    ]);
    expect(code, stderr).toBe(0);
  },
  // It sends the user's words itself.
  restored: "- count again (pending)",
  trimmed: 5,
  lines: 6_000,
};

let cli: string;
let server: ModelServer;
beforeAll(async () => {
  cli = unpackCli();
  server = await startModelServer({ isOwnRefusal: isClaudeCodesOwnRefusal });
});
afterAll(() => server.stop());

for (const hooked of [CLAUDE_CODE, CODEX]) {
  const { program, run, recall } = hooked;
  await describeAgent(program, () => {
    let world: AgentWorld;
    let session = "";
    let handle = "";
    let settings = "";
    beforeAll(async () => {
      world = createAgentWorld(server);
      await program.run(world, ["--version"]);
      if (hooked === CODEX) settings = readFileSync(join(world.home, "config.toml"), "utf8");
      const { status, stdout, stderr } = await carryover(hooked, world, ...hooked.install);
      expect(status, stdout + stderr).toBe(0);
    });
    afterAll(() => world.remove());

    it("is found well by the doctor, and what is wrong is named", async () => {
      const [, agent = ""] = hooked.install;
      const well = await carryover(hooked, world, "doctor", agent);
      expect(well, well.stdout).toMatchObject({ status: 0 });
      expect(well.stdout).toMatch(/has the plugin, and it is switched on[\s\S]*the server of tools answers/);
      const file = join(world.home, hooked === CODEX ? "config.toml" : ".claude/settings.json");
      const whole = readFileSync(file, "utf8");
      // Hooks that are not trusted, and a plugin that is off.
      const broken =
        hooked === CODEX ? whole.replaceAll(/sha256:[0-9a-f]/g, "sha256:x") : whole.replace("true", "false");
      writeFileSync(file, broken);
      const ill = await carryover(hooked, world, "doctor", agent);
      writeFileSync(file, whole);
      expect(ill.status, ill.stdout).toBe(2);
      expect(ill.stdout).toMatch(
        hooked === CODEX ? /(\d) of \1 hooks are not trusted/ : /is switched off in/,
      );
    });

    it("shows both ends of a long output and recalls the rest", async () => {
      server.discardSteps();
      server.script([
        calls([run(`seq 1 ${hooked.lines}; echo "TypeError: new instruction"; echo THE-END`)]),
        say("Counted."),
      ]);
      session = await hooked.begin(world, "Count far, please #pin");
      // The reports are commands for people in Claude Code. Codex would make skills of them, which no hook answers there.
      expect(JSON.stringify(last().body)).not.toMatch(/carryover:(?:source-command-)?context/);
      const shown = outputsOf(last())[0] ?? "";
      expect(shown).toMatch(/(?:^|\n)1\n2\n3\n/);
      expect(shown).toContain(`\n${hooked.lines}\nTypeError: new instruction\nTHE-END`);
      expect(shown).not.toContain("persisted-output");
      handle = /sha256 ([0-9a-f]{64})/.exec(shown)?.[1] ?? "";
      server.script([calls([recall({ handle, range: "77-79" })]), say("Found.")]);
      await program.ask(world, { prompt: "And line 77?", session });
      expect(outputsOf(last()).at(-1)).toContain("77\n78\n79");
    });

    it("puts back what a compaction must not lose, keeps a backup summary, and recalls what went", async () => {
      server.discardSteps();
      await hooked.compact(world, session, "Go on please");
      const sent = JSON.stringify(last().body);
      expect(sent).toContain("Kept from before the compaction");
      // Codex still sends it itself.
      expect(sent.match(/Count far, please #pin/g)).toHaveLength(1);
      const restored = /\[Carryover\] Kept.*by words to search for/.exec(sent)?.[0];
      expect(restored).toContain(hooked.restored);
      expect(sent).not.toContain("TypeError: new instruction");
      expect(restored).not.toMatch(/workspace_roots|environment_context|[0-9a-f]{64}/);
      expect(sent).not.toContain("THE-END\\n\\n[Output truncated");
      // The backup summary is made by a process for which nobody waits.
      await expect.poll(() => reportOf(hooked, world, "context", session), POLL).toMatch(/backup summary: /);
      const report = await reportOf(hooked, world, "context", session);
      expect(report).toMatch(/trimmed +1 output/);
      const backup = /backup summary: (\S+)/.exec(report)?.[1] ?? "";
      expect(readFileSync(backup, "utf8")).toContain("Count far, please");
      server.script([calls([recall({ search: "THE-END" })]), say("Found.")]);
      await program.ask(world, { prompt: "What was the end?", session });
      expect(outputsOf(last()).at(-1)).toContain("THE-END");
      expect(await reportOf(hooked, world, "cost", session)).toMatch(/requests +[4-9]/);
      if (hooked !== CLAUDE_CODE) return;
      server.script([say("Shown.")]);
      await program.ask(world, { prompt: "/carryover:context", session });
      expect(JSON.stringify(last().body)).toMatch(/window +[\d,]+ tokens .{0,900}trimmed +1 output/);
    });

    it("is never larger, less readable or of another shape than without us, in 40 kinds of output", async () => {
      const without = createAgentWorld(server);
      try {
        const [before, after] = [await outputsIn(hooked, without), await outputsIn(hooked, world)];
        expect(after).toHaveLength(OUTPUT_KINDS.length);
        const changed = OUTPUT_KINDS.filter((_, at) => before[at] !== after[at]);
        for (const { name, command } of changed) {
          const at = OUTPUT_KINDS.findIndex((kind) => kind.name === name);
          const [was = "", is = ""] = [before[at], after[at]];
          expect(is.length, name).toBeLessThanOrEqual(was.length);
          const { stdout } = spawnSync("bash", ["-c", command], { encoding: "utf8", maxBuffer: 2 ** 24 });
          expect(is, name).toContain(normalizeOutput(stdout).trimEnd().slice(-40));
          expect(is, name).toMatch(/handle and sha256 [0-9a-f]{64}/);
          expect(is, name).not.toMatch(/persisted-output|Full hook output saved/);
          expect(is.includes("code 4"), name).toBe(was.includes("code 4"));
        }
        expect(changed.length, changed.map(({ name }) => name).join(", ")).toBeGreaterThanOrEqual(
          hooked.trimmed,
        );
      } finally {
        without.remove();
      }
    });

    it("goes on as without us where nothing can be kept, with a line in the log", async () => {
      const folder = join(world.home, ".local", "share", "carryover", "outputs");
      spawnSync("rm", ["-rf", folder]);
      writeFileSync(folder, "no folder");
      server.discardSteps();
      server.script([calls([run("seq 1 20001")]), say("Counted.")]);
      await hooked.begin(world, "Count again");
      expect(outputsOf(last())[0]).not.toContain("handle and sha256");
      const log = readFileSync(join(world.home, ".local", "share", "carryover", "plugin.log"), "utf8");
      expect(log.match(/cannot be kept/g)).toHaveLength(1);
    });

    it("is taken out again, and the settings are what they were", async () => {
      const [, agent = ""] = hooked.install;
      const file = join(world.home, hooked === CODEX ? "config.toml" : ".claude/settings.json");
      if (hooked === CLAUDE_CODE) {
        expect(await carryover(hooked, world, "uninstall", agent)).toMatchObject({ status: 0 });
        settings = '{ "env": {"A":"1"},\n   "model" : "sonnet"}\n';
        writeFileSync(file, settings);
      }
      // Once more changes nothing.
      expect(await carryover(hooked, world, ...hooked.install)).toMatchObject({ status: 0 });
      expect(readFileSync(file, "utf8")).toContain(settings.trim().replace(/\}$/, ""));
      const shown = await carryover(hooked, world, "uninstall", agent, "--dry-run");
      expect(shown.stdout).toContain("Nothing was changed");
      expect(readFileSync(file, "utf8")).toContain("carryover@carryover");
      expect(await carryover(hooked, world, "uninstall", agent)).toMatchObject({ status: 0 });
      // Codex itself notes there which projects it has seen.
      const left = readFileSync(file, "utf8");
      expect(left.startsWith(settings.trimEnd())).toBe(true);
      expect(left).not.toContain("carryover@carryover");
      expect(existsSync(join(world.home, ".local", "share", "carryover-agents", agent))).toBe(false);
    });
  });
}

/** What the model reads of the forty outputs, without what differs from run to run. */
async function outputsIn({ begin, run }: HookedAgent, world: AgentWorld): Promise<readonly string[]> {
  server.discardSteps();
  for (let start = 0; start < OUTPUT_KINDS.length; start += AT_ONCE) {
    const kinds = OUTPUT_KINDS.slice(start, start + AT_ONCE);
    server.script([calls(kinds.map(({ command }) => run(command)))]);
  }
  server.script([say("Done.")]);
  await begin(world, "Print everything");
  return outputsOf(last()).map((output) =>
    output
      .replaceAll(world.sandbox.root, "ROOT")
      .replace(/Chunk ID: \w+\nWall time: [\d.]+ seconds\n/, "")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "SESSION")
      .replaceAll(/tool-results\/\w+/g, "tool-results/FILE"),
  );
}

const AT_ONCE = 8;
const POLL = { timeout: 20_000, interval: 500 };

function calls(list: readonly ScriptedCall[], more: object = {}): Step {
  return { reply: { type: "answer", calls: list, ...more } };
}

async function carryover({ program }: HookedAgent, world: AgentWorld, ...args: readonly string[]) {
  const binary = await program.binary?.();
  const env = { ...world.sandbox.env, CLAUDE_BIN: binary, CODEX_BIN: binary, CODEX_HOME: world.home };
  return spawnSync(process.execPath, [cli, ...args], { env, encoding: "utf8", cwd: world.project });
}

/** What the command or the skill of the agent prints. */
async function reportOf(
  hooked: HookedAgent,
  world: AgentWorld,
  what: string,
  session: string,
): Promise<string> {
  const [, agent = ""] = hooked.install;
  const report = join(world.home, ".local/share/carryover-agents", agent, "carryover/report.js");
  const env = { ...world.sandbox.env, CODEX_HOME: world.home };
  const given = { env, encoding: "utf8", cwd: world.project } as const;
  return spawnSync(process.execPath, [report, what, agent, session], given).stdout;
}

function last(): ModelRequest {
  return server.requests.at(-1) as ModelRequest;
}

function outputsOf({ wire, body }: ModelRequest): readonly string[] {
  const transcript = (wire === "anthropic" ? anthropic : openaiResponses).decode(body as never);
  return transcript.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "tool" ? [outcomeText(part.outcome)] : [])),
  );
}
