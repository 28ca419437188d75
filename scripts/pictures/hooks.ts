import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import {
  type AgentProgram,
  type AgentWorld,
  claudeCode,
  codex,
  createAgentWorld,
} from "../../test/rig/agents/agent-programs.ts";
import { openAgentTerminal } from "../../test/rig/agents/agent-terminal.ts";
import { type ModelServer, startModelServer } from "../../test/rig/model-server/model-server.ts";
import { type ScriptedCall, say } from "../../test/rig/model-server/step.ts";
import type { OpenCodeScreen } from "../../test/rig/opencode/opencode-tui.ts";
import { photographScreen } from "./photograph.ts";

// Claude Code and Codex with the plugin as `carryover install` puts it there, in their own terminals; the model is scripted.
const TESTS = "seq -f 'ok %g' 1 4200; echo 'not ok 4201 expected 19.99, got 20.00'";
const QUESTION = "Invoice totals are a cent off. Run the tests.";

interface Pictured {
  readonly program: AgentProgram;
  readonly title: string;
  readonly install: readonly string[];
  readonly start: readonly [string, ...string[]];
  readonly isReady: RegExp;
  /** Keys that show what calls gave, and again hide it. */
  readonly details?: readonly string[];
  readonly run: (command: string) => ScriptedCall;
  readonly recall: (input: object) => ScriptedCall;
  prepare(world: AgentWorld): void;
  /** Has it sum up. */
  compact(screen: OpenCodeScreen, server: ModelServer): Promise<void>;
  /** What the user types for the report. */
  readonly asks: string;
  sessions(world: AgentWorld): string;
}

const CLAUDE_CODE: Pictured = {
  program: claudeCode,
  title: "claude, with carryover",
  install: ["install", "claude-code", "--status-line"],
  start: ["claude", "--allowedTools=Bash,mcp__plugin_carryover_carryover__recall"],
  isReady: /❯|>\s/,
  // Its view of everything, with the calls.
  details: ["C-o"],
  run: (command) => ({ tool: "Bash", input: { command, description: "Run the tests" } }),
  recall: (input) => ({ tool: "mcp__plugin_carryover_carryover__recall", input }),
  prepare(world) {
    const key = "sk-scripted-model-on-loopback";
    writeFileSync(
      join(world.home, ".claude.json"),
      JSON.stringify({
        hasCompletedOnboarding: true,
        theme: "dark",
        customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
        projects: { [world.project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }),
    );
  },
  async compact(screen, server) {
    server.script([say("<summary>The tests ran; one total is a cent off.</summary>")]);
    await screen.send("/compact");
    await screen.until((text) => /Compacted|compacted/.test(text), "the summary");
  },
  asks: "/carryover:context",
  sessions: ({ home }) => join(home, ".claude/projects"),
};

const CODEX: Pictured = {
  program: codex,
  title: "codex, with carryover",
  install: ["install", "codex", "--trust"],
  start: ["codex"],
  isReady: /›|Use existing model/,
  run: (cmd) => ({ tool: "exec_command", input: { cmd } }),
  recall: (input) => ({ tool: "recall", namespace: "mcp__carryover", input }),
  prepare: () => {},
  async compact(screen, server) {
    server.script([say("The tests ran; one total is a cent off.")]);
    await screen.send("/compact");
    await screen.until((text) => /[Cc]ompacted/.test(text), "the summary");
  },
  asks: "$carryover what fills the window?",
  sessions: ({ home }) => join(home, "sessions"),
};

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
for (const pictured of [CLAUDE_CODE, CODEX])
  if (process.argv.length < 3 || process.argv.includes(pictured.program.name))
    await picture(pictured, browser);
await browser.close();

async function picture(pictured: Pictured, inBrowser: Browser): Promise<void> {
  const { program, run, recall } = pictured;
  await program.install();
  const server = await startModelServer();
  const world = createAgentWorld(server);
  let screen: OpenCodeScreen | undefined;
  try {
    // It writes its configuration.
    await program.run(world, ["--version"]);
    mkdirSync(join(world.home, "bin"), { recursive: true });
    const binary = await program.binary?.();
    const env = { ...world.sandbox.env, CLAUDE_BIN: binary, CODEX_BIN: binary, CODEX_HOME: world.home };
    const node = (file: string, ...args: readonly string[]) =>
      spawnSync(process.execPath, [file, ...args], { env, encoding: "utf8", cwd: world.project });
    const installed = node(resolve("dist/cli.js"), ...pictured.install);
    if (installed.status !== 0) throw new Error(installed.stdout + installed.stderr);
    pictured.prepare(world);
    // Codex also asks for other things, without its tools.
    const talk = { contains: program === codex ? "exec_command" : "Bash", times: "always" } as const;
    server.script([
      { ...talk, times: "once", reply: { type: "answer", calls: [run(TESTS)] } },
      { contains: "ok 4200", reply: { type: "answer", calls: [recall({ search: "ok 2711" })] } },
      say("One of 4,201 fails: expected 19.99, got 20.00. 2711, from the middle, was recalled: it adds up.", {
        contains: "2711: ok 2711",
        times: "always",
      }),
    ]);
    screen = await openAgentTerminal(world, {
      agents: [program],
      program: pictured.start,
      isReady: pictured.isReady,
      width: 112,
      height: 40,
    });
    if (program === codex) {
      await screen.until((text) => text.includes("Use existing model"), "the question about models");
      await screen.press("Down", "Enter");
    }
    await sleep(3_000);
    await screen.send(QUESTION);
    await screen.until((text) => text.includes("it adds up."), "the answer");
    await sleep(3_000); // until the status line was asked again
    if (pictured.details !== undefined) await screen.press(...pictured.details);
    await sleep(1_000);
    await shoot(pictured, { world, screen, browser: inBrowser, name: `${program.name}-trimmed` });
    if (pictured.details !== undefined) await screen.press(...pictured.details);

    server.discardSteps();
    await pictured.compact(screen, server);
    const files = readdirSync(pictured.sessions(world), { recursive: true, encoding: "utf8" });
    const [, id = ""] = /([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl/.exec(files.join("\n")) ?? [];
    server.discardSteps();
    server.script([say("Going on with the rounding in src/invoice.ts.", talk)]);
    await screen.send("Go on.");
    await screen.until((text) => text.includes("Going on with the rounding"), "the next answer");
    const report = join(world.home, ".local/share/carryover-agents", program.name, "carryover/report.js");
    const { stdout } = node(report, "context", program.name, id);
    server.discardSteps();
    server.script([say(`\`\`\`\n${stdout.replaceAll(world.home, "~")}\`\`\``, talk)]);
    await screen.send(pictured.asks);
    if (program === codex) await screen.press("Enter");
    await screen.until((text) => text.includes("backup summary:"), "the report");
    await sleep(3_000);
    await shoot(pictured, { world, screen, browser: inBrowser, name: `${program.name}-context` });
  } catch (cause) {
    console.error(cause, screen?.text());
    process.exitCode = 1;
  } finally {
    screen?.stop();
    await server.stop();
    await sleep(1_500); // it writes until it is gone
    world.remove();
  }
}

interface Shot {
  readonly world: AgentWorld;
  readonly screen: OpenCodeScreen;
  readonly browser: Browser;
  readonly name: string;
}

async function shoot({ title }: Pictured, { world, screen, browser: inBrowser, name }: Shot): Promise<void> {
  const root = dirname(world.home);
  const { coloured } = screen;
  // The sandbox is in another folder each time, and the font lacks two signs.
  const shown = (): string =>
    coloured()
      .replaceAll(world.home, "~")
      .replaceAll(root, "")
      .replaceAll(root.replaceAll(/[^a-zA-Z0-9]/g, "-"), "")
      .replaceAll("⎿", "└")
      .replaceAll("⏵", "▸");
  await photographScreen({
    browser: inBrowser,
    screen: { ...screen, coloured: shown },
    sandbox: world.sandbox,
    name,
    title,
  });
}
