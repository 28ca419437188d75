import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { startModelServer } from "../../test/rig/model-server/model-server.ts";
import { call, say } from "../../test/rig/model-server/step.ts";
import type { OpenCodeScreen } from "../../test/rig/opencode/opencode-tui.ts";
import { createSandbox, LONG_WINDOW } from "../../test/rig/opencode/sandbox.ts";
import { startScreen2 } from "../../test/rig/opencode2/opencode2-tui.ts";
import { findOpencode2, NO_OPENCODE2, startOpencode2 } from "../../test/rig/opencode2/start-opencode2.ts";
import { photographScreen, pricedProvider } from "./photograph.ts";

// Pictures of OpenCode 2's own screen in tmux, with both parts of the plugin and a scripted model.
if (findOpencode2() === undefined) {
  console.log(`opencode2-terminal: ${NO_OPENCODE2}`);
  process.exit(0);
}
const model = await startModelServer();
const sandbox = createSandbox({
  files: {
    "src/invoice.ts": "export const total = (lines: number[]) => lines.reduce((a, b) => a + b, 0);\n",
    "src/round.ts": "export const round = (cents: number) => Math.round(cents);\n",
  },
});
const child = (task: string) => ({ contains: `<task>\\n${task}` });
const [rounding, tests] = ["Find every place where cents are rounded twice.", "Write tests for totals."];
model.script([
  call("shell", { command: "grep -n round src/*.ts; sleep 600" }, child(rounding)),
  call("shell", { command: "ls src" }, child(tests)),
  say("Outcome: 4 tests in test/total.test.ts; one fails, as it should.", child(tests)),
  call("shell", { command: "seq 40000 | sed 's/$/ invoice/'" }),
  call("fork", { title: "check rounding", prompt: rounding }),
  call("fork", { title: "write tests", prompt: tests }),
  say("Two forks work with everything we know so far. I go on with the report."),
  say("The tests are written.", { contains: "fork_result delivery" }),
]);
const host = await startOpencode2({
  modelUrl: model.url,
  sandbox,
  config: { plugin: [resolve("dist/server.js")], provider: pricedProvider(model.url) },
});
let screen: OpenCodeScreen | undefined;
let browser: Browser | undefined;
try {
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const sessionId = await host.createSession("Totals are a cent off", LONG_WINDOW);
  screen = await startScreen2({ host, sessionId, plugins: [resolve("dist/tui.js")], width: 138, height: 32 });
  const photograph = (name: string): Promise<void> =>
    photographScreen({ browser, screen, sandbox, name, title: "opencode 2, with carryover" });
  await screen.send("Invoice totals are a cent off. Let forks look at the rounding and write tests.");
  await screen.until((text) => text.includes("I go on with the report."), "the answer");
  await screen.until((text) => /✓ #2 write tests/.test(text), "the fork that has ended");
  await screen.until((text) => /● #1 check rounding.*\n.*\n.*↳ shell grep/.test(text), "the fork at work");
  await screen.until((text) => text.includes("The tests are written."), "the answer to it");
  await screen.until((text) => /Carryover +x/.test(text), "the toast");
  await screen.until((text) => !/Carryover +x/.test(text), "a screen without a toast");
  await photograph("opencode2-terminal");
  await screen.press("/context");
  await screen.until((text) => text.includes("/context "), "the command");
  await screen.press("Enter");
  await screen.until((text) => text.includes("What fills it"), "what fills the window");
  await photograph("opencode2-context");
} catch (cause) {
  console.error(cause);
  process.exitCode = 1;
} finally {
  screen?.stop();
  await browser?.close();
  await host.stop();
  await model.stop();
  await sleep(1_500); // OpenCode writes until it is gone
  sandbox.remove();
}
