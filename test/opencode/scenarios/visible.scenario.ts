import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { call, callAll, say } from "../../rig/model-server/step.ts";
import { hasTmux, startScreen } from "../../rig/opencode/opencode-tui.ts";
import { PACKED_FOLDER } from "../harness/plugin-specs.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { letGo, textOf, toastsOf, waitForDeliveries, waitForEnds, waitingCommand } from "./fork-support.ts";

/** Nothing is set of ours; one command of the host's asks. */
const ASK = { permission: { "*": "allow", bash: { "*": "allow", "touch asked*": "ask" } } };

const shared = shareRig({ plugin: {}, config: ASK });

interface ShownPart {
  readonly type: string;
  readonly tool?: string;
  readonly text?: string;
  readonly metadata?: { readonly carryover?: { readonly shown?: string } };
  readonly state?: { readonly status: string; readonly input: object; readonly metadata: object };
}

/** What is stored in a session for people alone. */
async function shownIn(rig: Rig, sessionId: string): Promise<readonly ShownPart[]> {
  const messages = await rig.opencode.messages(sessionId);
  const parts = messages.flatMap(({ parts }) => parts as unknown as readonly ShownPart[]);
  return parts.filter(({ metadata }) => metadata?.carryover?.shown !== undefined);
}

const lineOf = (parts: readonly ShownPart[], text: string): ShownPart | undefined =>
  parts.find((part) => part.tool === "task" && JSON.stringify(part.state).includes(text));

scenario(
  "a fork is shown while it runs, its report can be read, and no request holds a word of it",
  { shared, proves: "line with last step, calls, time, cost; report; cut output; the same bytes are sent" },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      call("bash", waitingCommand("shown-a"), { family: "child" }),
      say("It was the cat.", { family: "child" }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
    ]);
    await rig.turn(id, "Fork.", [
      call("fork", { prompt: "Look.", title: "who did it" }),
      call("bash", { command: "seq 30000", description: "Count" }),
      say("Forked."),
    ]);
    const running = await rig.waitFor(
      async () => lineOf(await shownIn(rig, id), "who did it · 1 call ·"),
      "the line of a fork that works",
    );
    expect(running.state).toMatchObject({
      status: "running",
      input: {
        subagent_type: "fork 1",
        description: expect.stringMatching(/^who did it · 1 call · .+ s · bash until \[ -f shown-a/),
      },
      metadata: { sessionId: expect.stringMatching(/^ses_/) },
    });
    await rig.waitFor(
      async () => lineOf(await shownIn(rig, id), "who did it")?.state?.input !== running.state?.input,
      "an update of the line",
    );
    letGo(rig, "shown-a");
    await waitForDeliveries(rig, id, 1);
    const shown = await rig.waitFor(async () => {
      const parts = await shownIn(rig, id);
      return lineOf(parts, "completed") !== undefined && parts.some(({ type }) => type === "text") && parts;
    }, "the end of the line and the report");
    expect(shown.map(({ type, tool }) => tool ?? type).toSorted()).toEqual(["carryover", "task", "text"]);
    expect(shown.find(({ type }) => type === "text")?.text).toBe(
      "\n\n**Carryover: Fork 1 (who did it) completed**\n\n> It was the cat.",
    );
    const cut = JSON.stringify(shown.find(({ tool }) => tool === "carryover")?.state?.input);
    expect(cut).toMatch(/bash: the model reads [\d.]+ KB of 164\.9 KB; recall [0-9a-f]{12}…/);
    const [, handle = ""] = /recall ([0-9a-f]+…)/.exec(cut) ?? [];
    await rig.turn(id, `Recall ${handle}`, [call("recall", { handle, range: "15000-15001" }), say("Read.")]);
    expect(JSON.stringify(rig.requests({ sessionId: id }).at(-1)?.body)).toContain("15000\\n15001");
    for (const request of rig.requests({ lane: "any" })) {
      expect(textOf(request)).not.toContain("carryover_prt");
      expect(textOf(request)).not.toContain("the model reads");
      expect(textOf(request)).not.toContain("Fork 1 (who did it) completed**");
    }
  },
);

scenario(
  "forks that end together are one toast, and one that asks is named",
  { shared, proves: "three ends in one toast; the permission that is asked for stands in toast and line" },
  async (rig) => {
    const id = await rig.newSession();
    const jobs = ["red", "green", "blue"];
    rig.model.script([
      ...jobs.flatMap((job) => [
        call("bash", waitingCommand("toast-go"), { family: "child", contains: `Paint ${job}.` }),
        say(`${job} is done.`, { family: "child", contains: `Paint ${job}.` }),
      ]),
      say("Seen.", { sessionId: id, contains: "fork_result delivery", times: "always" }),
    ]);
    await rig.turn(id, "Fork three times.", [
      callAll(jobs.map((job) => ({ tool: "fork", input: { prompt: `Paint ${job}.`, title: job } }))),
      say("Forked."),
    ]);
    await rig.waitFor(
      async () => (await shownIn(rig, id)).filter((part) => lineOf([part], "1 call")).length === 3,
      "three forks at work",
    );
    letGo(rig, "toast-go");
    await waitForEnds(rig, 3);
    // However far apart they are: one that replaces another says what that said, of forks elsewhere too.
    await rig.waitFor(
      () => toastsOf(rig).some((text) => /\d forks completed: .*\((red|green|blue)\)/.test(text)),
      "a toast that speaks of several",
    );
    await waitForDeliveries(rig, id, 3);

    const other = await rig.newSession();
    rig.model.script([
      call("bash", { command: "touch asked.txt", description: "Touch" }, { family: "child" }),
      say("Touched.", { family: "child" }),
      say("Seen.", { sessionId: other, contains: "fork_result delivery" }),
    ]);
    await rig.turn(other, "Fork.", [call("fork", { prompt: "Touch.", title: "toucher" }), say("Forked.")]);
    await rig.waitFor(
      () =>
        toastsOf(rig).some((text) => text.includes("Fork 1 (toucher) waits for a permission: bash touch")),
      "the toast that names the fork",
    );
    await rig.waitFor(
      async () => lineOf(await shownIn(rig, other), "toucher · asks for a permission") !== undefined,
      "the line that says so",
    );
    const asks = (await rig.opencode.call("GET", "/permission")) as readonly { readonly id: string }[];
    await rig.opencode.call("POST", `/permission/${asks[0]?.id}/reply`, { reply: "once" });
    await waitForDeliveries(rig, other, 1);
  },
);

const LONGEST_TITLE = "a title of sixty characters, which is as long as they get, x";

if (!hasTmux()) it.skip("the screen itself: there is no tmux on this machine");
else
  scenario(
    "on the screen: /subtask, a refusal, the line, the report, who asks, and /forks that leads to a fork",
    {
      config: ASK,
      start: "later",
      leftoverSteps: "allow",
      proves: "the packed plugin in the real terminal, server and terminal part, with default options",
    },
    async (rig) => {
      const { sandbox, model } = rig;
      writeFileSync(join(sandbox.configFolder, "tui.json"), JSON.stringify({ plugin: [PACKED_FOLDER] }));
      const first = { family: "child", contains: "Find out." } as const;
      const second = { family: "child", contains: "Rest." } as const;
      model.script([
        say("Say that again.", { family: "top-level" }),
        call("fork", { prompt: "Try.", agent: "nobody" }, { family: "top-level" }),
        callAll(
          [
            { tool: "fork", input: { title: "who did it", prompt: "Find out." } },
            { tool: "fork", input: { title: LONGEST_TITLE, prompt: "Rest." } },
          ],
          { family: "top-level" },
        ),
        say("A fork is looking.", { family: "top-level" }),
        call("bash", { command: "touch asked.txt", description: "Touch" }, first),
        call("bash", waitingCommand("screen-go"), first),
        say("It was the cat.", first),
        call("bash", waitingCommand("screen-go"), second),
        say("Rested.", second),
        say("So it was the cat.", {
          family: "top-level",
          contains: "fork_result delivery",
          times: "always",
        }),
      ]);
      const config = { ...ASK, plugin: [PACKED_FOLDER] };
      const screen = await startScreen({ sandbox, modelUrl: model.url, config });
      try {
        await screen.send("/subtask Who did it?");
        await screen.until((text) => text.includes("Say that again."), "the answer");
        expect(screen.text()).toContain("/subtask Who did it?");
        expect(screen.text()).not.toContain("Hand this over");
        await screen.press("/", "u", "n", "d", "o");
        await screen.until((text) => text.includes("/undo "), "the command");
        await screen.press("Enter");
        await screen.until((text) => !text.includes("Say that again."), "the undo");
        await screen.until((text) => text.includes("/subtask Who did it?"), "what was typed");
        expect(screen.text()).not.toContain("Hand this over");
        await screen.press("Enter");
        await screen.until((text) => text.includes('refused=There is no agent "nobody"'), "the refusal");
        await screen.until((text) => text.includes("Permission required"), "the question");
        await screen.until((text) => text.includes("who did it · asks for a permission"), "who asks");
        // No call of the child has ended yet: OpenCode itself shows no step then.
        await screen.until((text) => / s · bash touch asked\.txt/.test(text), "the last step");
        await screen.until(
          (text) => text.includes("Fork 1 (who did it) asks for a permission: bash touch"),
          "it",
        );
        await screen.press("Enter");
        await screen.until(() => existsSync(join(sandbox.project, "asked.txt")), "the allowed command");
        await screen.until((text) => /Fork 1 Task.*who did it · 2 calls · .* s\b/.test(text), "the line");
        await screen.until((text) => / s · bash until \[ -f screen-go/.test(text), "the next step");
        const requests = model.requests.length;
        await screen.press("/", "f", "o", "r", "k", "s");
        await screen.until((text) => text.includes("/forks "), "the command");
        await screen.press("Enter");
        await screen.until((text) => /#1 who did it.*running · 2 calls/.test(text), "the list");
        expect(screen.text()).toMatch(/#2 a title of sixty characters.* running /);
        await screen.press("Enter");
        await screen.until((text) => text.includes("Subagent (1 of 2)"), "the session of the fork");
        expect(model.requests).toHaveLength(requests);
        await screen.press("Up");
        await screen.until((text) => text.includes("A fork is looking."), "the way back");
        letGo(rig, "screen-go");
        await screen.until((text) => text.includes("Fork 1 (who did it) completed"), "the report");
        await screen.until((text) => text.includes("So it was the cat."), "the answer to it");
        expect(screen.text()).toMatch(/✓ Fork 1 Task.*who did it · completed · 2 calls/);
      } finally {
        screen.stop();
      }
    },
  );
