import { expect } from "vitest";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { scenario } from "../harness/scenario.ts";
import { firstChildRequest, textOf } from "./fork-support.ts";

const FEW = { inputTokens: 1_000, outputTokens: 10 };
const NAMES = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
const FILES = Object.fromEntries(
  NAMES.map((name) => [
    `src/${name}.ts`,
    Array.from({ length: 900 }, (_, line) => `const ${name}${line} = ${line * 7}; // a line`).join("\n"),
  ]),
);

scenario(
  "a trimmed fork gets the file that it is asked about",
  {
    plugin: {},
    files: FILES,
    config: { agent: { near: { description: "Near", mode: "all", prompt: "You are near." } } },
    proves: "of 8 files of 900 lines, more than may be inherited, the child has the one that its task names",
  },
  async (rig) => {
    const id = await rig.newSession();
    const filePath = (name: string): string => `${rig.sandbox.project}/src/${name}.ts`;
    await rig.turn(id, "Read them all.", [
      callAll(
        NAMES.map((name) => ({ tool: "read", input: { filePath: filePath(name) } })),
        { usage: FEW },
      ),
      say("Read.", { usage: FEW }),
    ]);
    const tasks = ["Explain src/two.ts to me.", "Explain it to me."];
    for (const prompt of tasks) {
      rig.model.script([say("The report.", { family: "child", contains: prompt, usage: FEW })]);
      await rig.turn(id, `Fork: ${prompt}`, [
        call("fork", { prompt, agent: "near", wait_s: 60 }, { usage: FEW }),
        say("Forked.", { usage: FEW }),
      ]);
    }
    await firstChildRequest(rig, id);
    const [named = 0, unnamed = 0] = tasks.map((prompt) => {
      const child = rig.requests({ parentSessionId: id }).find((request) => textOf(request).includes(prompt));
      const text = child === undefined ? "" : textOf(child);
      const lines = (FILES["src/two.ts"] ?? "").split("\n");
      return lines.filter((line) => text.includes(line)).length;
    });
    console.log(`of the file asked about: ${named} lines with its name, ${unnamed} without, of 900`);
    expect(named).toBeGreaterThan(800);
    expect(unnamed).toBeLessThan(named);
  },
);
