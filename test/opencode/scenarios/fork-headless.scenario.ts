import { spawn } from "node:child_process";
import { expect } from "vitest";
import { LIMIT_REASON } from "../../../src/fork/life/child-rules.ts";
import { call, callAll, refuse, say } from "../../rig/model-server/step.ts";
import { installOpenCode } from "../../rig/opencode/install-opencode.ts";
import { scenario } from "../harness/scenario.ts";
import { textOf } from "./fork-support.ts";

const LONG = "A title that a model has given to its fork, and that is far too long for one line of a list";

scenario(
  "opencode run waits for its forks, side by side, and gives their results to the model and to the terminal",
  {
    plugin: {},
    start: "later",
    proves:
      "each result is the answer of its call, of a failed and a limited fork too; numbers are in the order of the calls",
  },
  async (rig) => {
    const wait = (task: string) =>
      call("bash", { command: "sleep 3", description: "Work" }, { family: "child", contains: task });
    rig.model.script([
      callAll([
        { tool: "fork", input: { prompt: "Task one.", title: LONG } },
        { tool: "fork", input: { prompt: "Task two." } },
        { tool: "fork", input: { prompt: "Task three." } },
        { tool: "fork", input: { prompt: "Task four." } },
      ]),
      call("fork_result", { id: "2" }, { family: "top-level", contains: "Report of two." }),
      say("All is told.", { family: "top-level", contains: "Report of two." }),
      wait("Task one."),
      wait("Task two."),
      say("Report of one.", { family: "child", contains: "Task one." }),
      say("Report of two.", { family: "child", contains: "Task two." }),
      callAll(Array(7).fill({ tool: "read", input: { filePath: "README.md" } }), {
        family: "child",
        contains: "Task four.",
      }),
      say("As far as I got.", { family: "child", contains: LIMIT_REASON["repeated-call"] }),
      refuse("The provider says no.", { family: "child", contains: "Task three." }),
    ]);
    const { code, stdout } = await rig.run("--format", "json", "Fork.");
    expect(code).toBe(0);
    const outputs = stdout
      .split("\n")
      .filter((line) => line.includes('"tool_use"'))
      .map((line) => JSON.parse(line).part.state.output as string);
    const forks = outputs.filter((text) => text.includes("fork_result delivery"));
    expect(forks.join()).toContain("Report of one.");
    expect(forks.join()).toContain("Report of two.");
    expect(forks.join()).toContain("The provider says no.");
    expect(forks.join()).toContain("As far as I got.");
    expect(stdout).toContain("All is told.");
    const all = outputs.join("\n");
    for (const [number, title] of [
      [1, `${LONG.slice(0, 57)}...`],
      [2, "Task two."],
      [3, "Task three."],
      [4, "Task four."],
    ])
      expect(all).toMatch(new RegExp(`fork="${number}" state="\\w+" title="${title}"`));
    const children = rig
      .requests()
      .flatMap(({ sessionId, parentSessionId }) => (parentSessionId ? [sessionId] : []));
    expect(new Set(children.slice(0, 4)).size).toBe(4);
    // Nothing is left for the next time.
    rig.model.script([say("Nothing new.", { family: "top-level" })]);
    await rig.run("--continue", "--command", "subtask");
    const next = textOf(rig.requests().at(-1) as never);
    expect(next).not.toContain("have ended. What follows");
    expect(next).toContain("if nothing follows, ask me what");
  },
);

scenario(
  "opencode run that is stopped with Ctrl-C ends at once, and its fork with it",
  { plugin: {}, start: "later", proves: "nobody waits for what nobody wants" },
  async (rig) => {
    rig.model.script([
      call("fork", { prompt: "A long task." }, { family: "top-level" }),
      call("bash", { command: "sleep 100", description: "Work" }, { family: "child" }),
    ]);
    await rig.run("--version");
    const child = spawn(await installOpenCode(), ["run", "Fork."], {
      cwd: rig.sandbox.project,
      env: rig.sandbox.env,
      stdio: "ignore",
    });
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    await rig.waitFor(
      () => rig.requests().some(({ parentSessionId }) => parentSessionId !== undefined),
      "the child's first request",
    );
    const stoppedAtMs = Date.now();
    child.kill("SIGINT");
    await ended;
    expect(Date.now() - stoppedAtMs).toBeLessThan(20_000);
    rig.model.script([say("I see.", { family: "top-level" })]);
    await rig.run("--continue", "What became of it?");
    expect(textOf(rig.requests({ lane: "main" }).at(-1) as never)).toContain("interrupted");
  },
);
