import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { currentRun } from "../../../src/fork/life/record.ts";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { ANTHROPIC_WINDOW } from "../../rig/opencode/sandbox.ts";
import { describeHosts, scenario } from "../harness/scenario.ts";
import { forksOf } from "./delivery-support.ts";
import {
  childrenOf,
  deliveriesOf,
  firstChildRequest,
  requestWith,
  textOf,
  waitForDeliveries,
} from "./fork-support.ts";

const ASK = { permission: { "*": "allow", bash: "ask" } };

describeHosts("a permission ask of a fork", (host) => {
  host.scenario(
    "a permission ask that nobody answers is rejected with a reason",
    {
      plugin: { fork: { askTimeoutS: 2 } },
      why: "the wait for an answer must be over within a test; by default it is 5 minutes",
      twin: "opencode run rejects a permission ask of a fork at once",
      config: ASK,
      proves:
        "people are told first, then the reason reaches the child's model, nothing ran, and the fork goes on",
    },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([
        callAll([rig.tools.run("echo hello > greeted.txt"), rig.tools.run("echo bye > parted.txt")], {
          family: "child",
        }),
        say("I was not allowed to.", { family: "child", contains: "The permission is refused." }),
        say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
      ]);
      await rig.turn(id, "Fork.", [call("fork", { prompt: "Greet." }), say("Forked.")]);
      expect(await waitForDeliveries(rig, id, 1)).toHaveLength(1);
      const child = rig.requests({ parentSessionId: id }).at(-1);
      const reason = "Nobody answered for 2 s. The permission is refused.";
      expect((child ? textOf(child) : "").split(reason)).toHaveLength(2);
      expect(textOf(requestWith(rig, id, "fork_result delivery"))).toContain("I was not allowed to.");
      expect(rig.notices().some((text) => text.includes("waits for a permission"))).toBe(true);
      for (const file of ["greeted.txt", "parted.txt"])
        expect(existsSync(join(rig.sandbox.project, file))).toBe(false);
      const [fork] = await forksOf(rig, id);
      expect(fork && currentRun(fork)).toMatchObject({ state: "completed" });
      expect(rig.requests({ parentSessionId: id })).toHaveLength(2);
    },
  );
});

scenario(
  "opencode run rejects a permission ask of a fork at once",
  {
    plugin: {},
    config: ASK,
    start: "later",
    leftoverSteps: "allow",
    proves: "nobody is there, so nothing waits",
  },
  async (rig) => {
    rig.model.script([
      call("fork", { prompt: "Greet.", wait_s: 60 }, { family: "top-level" }),
      call("bash", { command: "echo hello", description: "Greet" }, { family: "child" }),
      say("I was not allowed to.", { family: "child" }),
      say("Seen.", { family: "top-level", times: "always" }),
    ]);
    const result = await rig.run("Fork and wait.");
    expect(result.code).toBe(0);
    const child = rig
      .requests()
      .filter((request) => request.parentSessionId !== undefined)
      .at(-1);
    expect(child && textOf(child)).toContain("rejected permission to use this specific tool call");
    const parent = rig
      .requests()
      .filter((request) => request.parentSessionId === undefined)
      .at(-1);
    expect(parent && textOf(parent)).toContain("I was not allowed to.");
  },
);

scenario(
  "a second writer of a file that a running fork edits is told so",
  {
    plugin: {},
    files: { "shared.txt": "one\n" },
    proves: "the first attempt is refused with the reason, the next goes through",
  },
  async (rig) => {
    const id = await rig.newSession();
    const write = (content: string) => ({ filePath: "shared.txt", content });
    rig.model.script([
      call("write", write("two\n"), { family: "child" }),
      call("bash", { command: "sleep 12", description: "Work" }, { family: "child" }),
      say("Written.", { family: "child" }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Write.", title: "Writer" }), say("Forked.")]);
    await rig.waitFor(() => rig.requests({ parentSessionId: id }).length >= 2, "the child's write");
    await rig.turn(id, "Write too.", [
      call("read", { filePath: "shared.txt" }),
      call("write", write("three\n")),
      call("write", write("three\n")),
      say("Done."),
    ]);
    const text = textOf(requestWith(rig, id, "is editing shared.txt"));
    expect(text).toContain("Fork 1 (Writer) is editing shared.txt and still runs.");
    const last = rig
      .requests({ sessionId: id })
      .findLast((request) => textOf(request).includes("Wrote file"));
    expect(last).toBeDefined();
    await waitForDeliveries(rig, id, 1);
  },
);

scenario(
  "a delivery keeps the user's model and wakes the parent once for results that come together",
  { plugin: {}, proves: "the parent answers with the model of its last real turn" },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      ...["one", "two"].map((name) =>
        say(`Report ${name}.`, { family: "child", contains: `Task ${name}.`, delayMs: 2_000 }),
      ),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
    ]);
    await rig.turn(id, { text: "Fork.", model: ANTHROPIC_WINDOW }, [
      callAll(["one", "two"].map((name) => ({ tool: "fork", input: { prompt: `Task ${name}.` } }))),
      say("Forked."),
    ]);
    await waitForDeliveries(rig, id, 2);
    expect(new Set(rig.requests({ sessionId: id }).map(({ model, wire }) => `${wire} ${model}`)).size).toBe(
      1,
    );
    const users = (await rig.opencode.messages(id)).filter(({ info }) => info.role === "user");
    expect(new Set(users.map(({ info }) => JSON.stringify([info.model, info.agent]))).size).toBe(1);
  },
);

scenario(
  "a stopped parent is not woken; the result comes with the user's next message",
  { plugin: {}, proves: "after an abort nothing is prompted, and nothing is lost" },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      say("The report.", { family: "child", delayMs: 4_000 }),
      call("fork", { prompt: "Look." }, { sessionId: id }),
      call("bash", { command: "sleep 30", description: "Wait" }, { sessionId: id }),
    ]);
    await rig.opencode.promptInBackground(id, { text: "Fork and wait." });
    await firstChildRequest(rig, id);
    await rig.waitFor(() => rig.requests({ sessionId: id }).length >= 2, "the parent's long call");
    await rig.opencode.abort(id);
    const [child] = await childrenOf(rig, id);
    await rig.opencode.waitUntilIdle(child?.id ?? "");
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await deliveriesOf(rig, id)).toEqual([]);
    await rig.turn(id, "And now?", [say("Now I know.")]);
    expect(await deliveriesOf(rig, id)).toHaveLength(1);
    expect(textOf(requestWith(rig, id, "And now?"))).toContain("The report.");
  },
);
