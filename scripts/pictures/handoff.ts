import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { claudeCode, codex, createAgentWorld } from "../../test/rig/agents/agent-programs.ts";
import { keepModel, openAgentTerminal } from "../../test/rig/agents/agent-terminal.ts";
import { startModelServer } from "../../test/rig/model-server/model-server.ts";
import { call, say } from "../../test/rig/model-server/step.ts";
import type { OpenCodeScreen } from "../../test/rig/opencode/opencode-tui.ts";
import { photographScreen } from "./photograph.ts";

// A session of the real Claude Code, handed to the real Codex in a terminal; the model is scripted.
await Promise.all([claudeCode.install(), codex.install()]);
const server = await startModelServer();
const world = createAgentWorld(server, {
  files: {
    "src/invoice.ts":
      "export const total = (lines: Line[]) => lines.reduce((sum, l) => sum + round(l.cents), 0);\n",
    "test/invoice.test.ts": "expect(total([{ cents: 999.5 }, { cents: 1000.5 }])).toBe(2000);\n",
  },
});
let screen: OpenCodeScreen | undefined;
let browser: Browser | undefined;
try {
  server.script([
    call("Bash", { command: "grep -n round src/*.ts", description: "Where it is rounded" }),
    call("Read", { file_path: join(world.project, "test/invoice.test.ts") }),
    say("Every line is rounded before the sum. total() should add first and round once, at the end."),
  ]);
  const asked = await claudeCode.ask(world, { prompt: "Invoice totals are a cent off. Why?" });
  if (asked.code !== 0) throw new Error(asked.stderr);
  const files = readdirSync(join(world.home, ".claude/projects"), { recursive: true, encoding: "utf8" });
  const [, id = ""] = /([0-9a-f-]{36})\.jsonl/.exec(files.join("\n")) ?? [];

  const answer = "I know the two places from your session: src/invoice.ts rounds each line. I change it now.";
  server.discardSteps();
  server.script([say(answer, { contains: "Go on: mend it" })]);
  screen = await openAgentTerminal(world, {
    agents: [claudeCode, codex],
    program: ["bash", "--norc"],
    isReady: /[$#]/,
    width: 110,
    height: 30,
  });
  const program = join(world.home, "bin", "carryover");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${resolve("dist/cli.js")}' "$@"\n`);
  chmodSync(program, 0o755);
  await screen.send("PS1='~/project $ '; clear");
  await screen.send(`carryover handoff ${id.slice(0, 8)} --to codex --go`);
  await keepModel(screen, (text) => text.includes("round once, at the end."));
  await screen.send("Go on: mend it, and run the test.");
  await screen.until((text) => text.includes("I change it now."), "the answer");
  await sleep(2_000); // until what it shows while it works is gone
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const { coloured } = screen;
  const root = dirname(world.home);
  await photographScreen({
    browser,
    // The sandbox is in another folder each time.
    screen: {
      ...screen,
      coloured: () =>
        coloured()
          .replaceAll(root, "")
          .replaceAll(root.replace(/[^a-zA-Z0-9]/g, "-"), ""),
    },
    sandbox: world.sandbox,
    name: "handoff",
    title: `carryover handoff ${id.slice(0, 8)} --to codex --go`,
  });
} catch (cause) {
  console.error(cause);
  process.exitCode = 1;
} finally {
  screen?.stop();
  await browser?.close();
  await server.stop();
  await sleep(1_000); // Codex writes until it is gone
  world.remove();
}
