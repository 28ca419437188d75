import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { startModelServer } from "../../test/rig/model-server/model-server.ts";
import { call, say } from "../../test/rig/model-server/step.ts";
import { type OpenCodeScreen, startScreen } from "../../test/rig/opencode/opencode-tui.ts";
import { createSandbox } from "../../test/rig/opencode/sandbox.ts";
import { photographScreen, pricedProvider } from "./photograph.ts";

// Pictures of real forks: OpenCode's own screen in tmux, with the plugin and a scripted model.
const model = await startModelServer();
const sandbox = createSandbox({
  files: {
    "src/invoice.ts": "export const total = (lines: number[]) => lines.reduce((a, b) => a + b, 0);\n",
    "src/round.ts": "export const round = (cents: number) => Math.round(cents);\n",
  },
});
model.script([
  call(
    "fork",
    { title: "check rounding", prompt: "Find every place where cents are rounded twice." },
    { family: "top-level" },
  ),
  call("bash", { command: "seq 40000 | sed 's/$/ invoice/'", description: "List" }, { family: "top-level" }),
  say("A fork looks at the rounding with everything we know so far. I go on with the tests.", {
    family: "top-level",
  }),
  call("bash", { command: "grep -n round src/*.ts; sleep 12", description: "Find" }, { family: "child" }),
  call("bash", { command: "node --test; sleep 4", description: "Run the tests" }, { family: "child" }),
  say(
    "**Outcome:** one double rounding.\n**Evidence:** src/invoice.ts:1 sums rounded lines, src/round.ts:1 rounds again.\n**Changed files:** none.",
    { family: "child", delayMs: 1_500 },
  ),
  say(
    "The fork found it: `src/invoice.ts:1` sums lines that `src/round.ts:1` has rounded already. I fix it there.",
    { family: "top-level", contains: "fork_result delivery" },
  ),
]);
writeFileSync(
  `${sandbox.configFolder}/tui.json`,
  JSON.stringify({ plugin: [pathToFileURL("dist/tui.js").href] }),
);
let screen: OpenCodeScreen | undefined;
let browser: Browser | undefined;
try {
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  screen = await startScreen({
    sandbox,
    modelUrl: model.url,
    config: {
      provider: pricedProvider(model.url),
      permission: { "*": "allow", bash: { "*": "allow", "node --test*": "ask" } },
      plugin: [pathToFileURL("dist/server.js").href],
    },
    height: 40,
  });
  const photograph = (name: string): Promise<void> =>
    photographScreen({ browser, screen, sandbox, name, title: "opencode, with carryover" });
  await screen.send("Invoice totals are a cent off. Let a fork look at the rounding meanwhile.");
  await screen.until((text) => /1 call · .*\n.*↳ Bash/.test(text), "the fork at work");
  await screen.until((text) => text.includes("I go on with the tests."), "the answer");
  await screen.until((text) => !/Carryover +┃/.test(text), "a screen without a toast");
  await photograph("fork-in-opencode");
  await screen.until((text) => text.includes("Permission required"), "the question");
  await screen.until((text) => text.includes("asks for a permission"), "who asks");
  await photograph("fork-permission");
  await screen.press("Enter");
  await screen.until((text) => !text.includes("Permission required"), "the permission");
  await screen.press("/", "f", "o", "r", "k", "s");
  await screen.until((text) => text.includes("/forks "), "the command");
  await screen.press("Enter");
  await screen.until((text) => /#1 check rounding/.test(text), "the list");
  await photograph("forks-list");
  await screen.press("Escape");
  await screen.until((text) => text.includes("I fix it there"), "the result of the fork");
  await screen.until((text) => !/Carryover +┃/.test(text), "a screen without a toast");
  await sleep(1_500);
  await photograph("fork-report");
} finally {
  screen?.stop();
  await browser?.close();
  await model.stop();
  await sleep(1_500); // OpenCode writes until it is gone
  sandbox.remove();
}
