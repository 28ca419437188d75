import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startModelServer } from "../../rig/model-server/model-server.ts";
import { call, say } from "../../rig/model-server/step.ts";
import { hasTmux } from "../../rig/opencode/opencode-tui.ts";
import { LONG_WINDOW } from "../../rig/opencode/sandbox.ts";
import { startScreen2 } from "../../rig/opencode2/opencode2-tui.ts";
import { findOpencode2, NO_OPENCODE2, startOpencode2 } from "../../rig/opencode2/start-opencode2.ts";
import { PACKED_FOLDER } from "../harness/plugin-specs.ts";
import { waitingCommand } from "./fork-support.ts";

const NAME = "on the screen of OpenCode 2: sidebar, status line, toasts, /forks and /context";
const PROVES = "the packed plugin in the real terminal, server and terminal part, with default options";

if (findOpencode2() === undefined) it.skip(`${NAME}: ${NO_OPENCODE2}`);
else if (!hasTmux()) it.skip(`${NAME}: there is no tmux on this machine`);
else
  it(NAME, { timeout: 300_000 }, async ({ task }) => {
    Object.assign(task.meta, { proves: PROVES });
    const model = await startModelServer();
    // One command of the host's asks; nothing is set of ours.
    const host = await startOpencode2({
      modelUrl: model.url,
      config: {
        plugin: [join(PACKED_FOLDER, "dist/server.js")],
        permission: { "*": "allow", bash: { "*": "allow", "touch asked*": "ask" } },
      },
    });
    const { project } = host.sandbox;
    const sessionId = await host.createSession("Who did it", LONG_WINDOW);
    // A child's requests name the session whose cache they use: its task tells them apart.
    const child = { contains: "<task>\\nFind out." };
    model.script([
      call("shell", { command: "touch asked.txt" }, child),
      call("shell", { command: waitingCommand("screen-go").command }, child),
      say(`It was the cat, ${"as the paw marks show, ".repeat(9)}\nIt sleeps in the garden.`, child),
      call("shell", { command: "seq 40000" }),
      call("fork", { title: "who did it", prompt: "Find out." }),
      say("A fork is looking."),
      say("So it was the cat.", { contains: "fork_result delivery" }),
      say("Handed over."),
    ]);
    const screen = await startScreen2({ host, sessionId, plugins: [join(PACKED_FOLDER, "dist/tui.js")] });
    const open = async (command: string): Promise<void> => {
      await screen.press(command);
      await screen.until((text) => new RegExp(`┃ ${command} `).test(text), command);
      await screen.press("Enter");
    };
    try {
      await screen.send("Who did it?");
      await screen.until(
        (text) => /Carryover \d\S+ is loaded\./.test(text.replace(/\s*┃\s*/g, " ")),
        "what the half in the server says, in a toast",
      );
      await screen.until((text) => text.includes("A fork is looking."), "the answer");
      await screen.until((text) => /\s\d+k saved · 1 fork/.test(text), "the status line");
      expect(screen.text()).not.toContain("% full");
      await screen.until(
        (text) =>
          /\? #1 who did it\n.* asks for a permission · \d call.*\n.*↳ shell touch asked\.txt\n/.test(text),
        "who asks, and for what, in the sidebar",
      );
      await screen.until(
        (text) => /Fork 1 \(who did it\) asks for a/.test(text.replace(/\s*┃\s*/g, " ")),
        "who asks, in a toast",
      );
      const requests = model.requests.length;
      await open("/context");
      await screen.until((text) => text.includes("What fills it"), "what fills the window");
      expect(screen.text()).toMatch(/The window holds [\d,]+ tokens: \d+% of 200,000\./);
      expect(screen.text()).toMatch(/\d+k {2}long outputs, cut as they came \(1\)/);
      await screen.press("Escape");
      await open("/forks");
      await screen.until(
        (text) => /#1 who did it asks for a permission: shell touch asked\.txt · /.test(text),
        "the list",
      );
      await screen.press("Enter");
      await screen.until((text) => /touch asked/.test(text), "the question in the session of the fork");
      expect(model.requests).toHaveLength(requests);
      await screen.press("Enter");
      await screen.until(() => existsSync(join(project, "asked.txt")), "the allowed command");
      await screen.until((text) => /● #1 who did it\n.*\n.*↳ shell until/.test(text), "the last step");
      await open("/forks");
      await screen.until((text) => text.includes("Back to the conversation"), "the way back");
      await screen.press("Up", "Enter");
      await screen.until((text) => text.includes("A fork is looking."), "the conversation");
      writeFileSync(join(project, "screen-go"), "");
      await screen.until(
        (text) => /Fork 1 \(who did it\) completed/.test(text.replace(/\s*┃\s*/g, " ")),
        "the end, in a toast",
      );
      await screen.until((text) => /✓ #1 who did it\n/.test(text), "the end, in the sidebar");
      await screen.until((text) => text.includes("So it was the cat."), "the answer to it");
      expect(screen.text()).toMatch(
        /◈ +Fork 1 \(who did it\) completed.*\n +It was the cat, as[\s\S]*\n +It sleeps in the garden\./,
      );
      const opened = spawnSync(process.execPath, [join(PACKED_FOLDER, "dist/cli.js"), "forks", "open", "1"], {
        cwd: project,
        env: host.env,
        encoding: "utf8",
      });
      expect(opened).toMatchObject({ status: 2, stderr: expect.stringContaining("type /forks") });
      await screen.send("/subtask count the cats");
      await screen.until((text) => text.includes("Handed over."), "the answer to /subtask");
      expect(screen.text()).toMatch(/┃ +Hand this over with the tool fork, then go on with your own work/);
      await open("/undo");
      await screen.until(
        (text) => /messages? reverted[\s\S]*┃ +Hand this over/.test(text),
        "the sentence in the prompt",
      );
    } finally {
      screen.stop();
      await host.stop();
      await model.stop();
    }
  });
