import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { startModelServer } from "../../test/rig/model-server/model-server.ts";
import { call, say } from "../../test/rig/model-server/step.ts";
import { installOpenCode } from "../../test/rig/opencode/install-opencode.ts";
import { createSandbox, scriptedConfig } from "../../test/rig/opencode/sandbox.ts";
import { terminalHtml } from "./terminal-html.ts";

// A picture of a real fork: OpenCode's own screen in tmux, with the plugin and a scripted model.
const SESSION = "carryover-picture";
const tmux = (...args: readonly string[]): string =>
  execFileSync("tmux", ["-L", SESSION, ...args], { encoding: "utf8" });
const screen = (): string => tmux("capture-pane", "-t", SESSION, "-p");

const model = await startModelServer();
const sandbox = createSandbox({
  files: {
    "src/invoice.ts": "export const total = (lines: number[]) => lines.reduce((a, b) => a + b, 0);\n",
    "src/round.ts": "export const round = (cents: number) => Math.round(cents);\n",
  },
});
try {
  const plugin = pathToFileURL("dist/server.js").href;
  const config = scriptedConfig({ modelUrl: model.url, config: { plugin: [[plugin, {}]] } });
  writeFileSync(`${sandbox.configFolder}/opencode.json`, JSON.stringify(config));
  model.script([
    say("Read `src/invoice.ts` first.", { family: "top-level" }),
    call(
      "fork",
      { title: "check rounding", prompt: "Find every place where cents are rounded twice." },
      { family: "top-level" },
    ),
    say("A fork is looking at the rounding with everything we know so far. I go on with the tests.", {
      family: "top-level",
    }),
    say(
      "**Outcome:** one double rounding.\n**Evidence:** src/invoice.ts:1 sums rounded lines, src/round.ts:1 rounds again.\n**Changed files:** none.",
      { family: "child", delayMs: 2_500 },
    ),
    say(
      "The fork found it: `src/invoice.ts:1` sums lines that `src/round.ts:1` has rounded already. I fix it there.",
      {
        family: "top-level",
      },
    ),
  ]);
  const binary = await installOpenCode();
  const env = Object.entries({ ...sandbox.env, TERM: "xterm-256color", COLORTERM: "truecolor" })
    .filter(([name]) => name !== "NO_COLOR")
    .flatMap(([name, value]) => [`${name}=${value}`]);
  execFileSync("tmux", [
    "-L",
    SESSION,
    "new-session",
    "-d",
    "-s",
    SESSION,
    "-x",
    "118",
    "-y",
    "30",
    "-c",
    sandbox.project,
    "env",
    "-i",
    ...env,
    binary,
  ]);
  tmux("set-option", "-g", "status", "off");
  await until(() => /Ask anything|Build/.test(screen()), "OpenCode's prompt");
  await send("Invoice totals are a cent off. Where would you look?");
  await until(() => screen().includes("first."), "the first answer");
  await send("Let a fork look at the rounding meanwhile.");
  await until(() => screen().includes("I fix it there"), "the result of the fork");
  await sleep(1_500);
  const captured = tmux("capture-pane", "-t", SESSION, "-p", "-e");

  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const page = await browser.newPage({ viewport: { width: 1_200, height: 900 }, deviceScaleFactor: 1.5 });
  await page.setContent(terminalHtml(captured, { title: "opencode, with carryover" }));
  mkdirSync("docs/pictures", { recursive: true });
  await page.locator("figure").screenshot({ path: "docs/pictures/fork-in-opencode.png" });
  await browser.close();
  console.log("docs/pictures/fork-in-opencode.png");
} finally {
  try {
    tmux("kill-server");
  } catch {
    // It was never started, or is gone already.
  }
  await model.stop();
  await sleep(1_500); // OpenCode writes until it is gone
  sandbox.remove();
}

async function send(text: string): Promise<void> {
  tmux("send-keys", "-t", SESSION, "-l", text);
  await sleep(500);
  tmux("send-keys", "-t", SESSION, "Enter");
}

async function until(isTrue: () => boolean, what: string): Promise<void> {
  const endMs = Date.now() + 90_000;
  while (!isTrue()) {
    if (Date.now() > endMs) throw new Error(`${what} did not come. The screen:\n${screen()}`);
    await sleep(300);
  }
}
