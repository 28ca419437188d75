import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { refuse, refuseLength, say } from "../../../test/rig/model-server/step.ts";
import { SHORT_WINDOW } from "../../../test/rig/opencode/sandbox.ts";
import type { RecordingCase, Stage } from "../stage.ts";
import { ask, CALM, compact, FULL, longTurns, summary } from "../turns.ts";

/** Compactions that do not end well, and the turn after them. */
export const compactionFailureCases: readonly RecordingCase[] = [
  {
    name: "pending-marker",
    about:
      "A plugin makes the second compaction fail before it asks the model: its marker stays without a summary.",
    config: { plugin: [throwingPlugin()] },
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      await ask(stage, "A short question.", [say("A short answer.", { usage: CALM })]);
      await summarizeInVain(stage);
      return stage.recording();
    },
  },
  {
    name: "pending-marker-next-turn",
    about: "The same, one turn later: the next prompt is spent on trying the compaction again.",
    config: { plugin: [throwingPlugin()] },
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      await summarizeInVain(stage);
      await ask(stage, "A question after the failure.", [summary("## Objective\n- Second summary")]);
      await ask(stage, "Did you hear me?", [say("Now I do.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "killed-summary",
    about: "The program dies while the summary is being written, and is started again.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      stage.model.script([
        { lane: "summary", reply: { type: "stall", text: "## Objective\n- Half a summ" } },
      ]);
      const lost = stage.opencode().summarize(stage.sessionId, SHORT_WINDOW);
      lost.catch(() => undefined);
      await untilSummaryStalls(stage);
      await stage.restart();
      await ask(stage, "Where were we?", [summary("## Objective\n- A whole summary")]);
      await ask(stage, "And now?", [say("Now I know.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "aborted-summary",
    about: "The user stops the second compaction in the middle of its summary, and goes on.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      stage.model.script([
        { lane: "summary", reply: { type: "stall", text: "## Objective\n- Half a summ" } },
      ]);
      const stopped = stage.opencode().summarize(stage.sessionId, SHORT_WINDOW);
      stopped.catch(() => undefined);
      await untilSummaryStalls(stage);
      await stage.opencode().abort(stage.sessionId);
      await stage.opencode().waitUntilIdle(stage.sessionId);
      await ask(stage, "Where were we?", [summary("## Objective\n- A whole summary")]);
      await ask(stage, "And now?", [say("Now I know.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "failed-summary",
    about: "The provider refuses to write the only summary; no turn after it yet.",
    async play(stage) {
      await ask(stage, "First question.", [say("First answer.", { usage: CALM })]);
      await compactInVain(stage);
      return stage.recording();
    },
  },
  {
    name: "failed-summary-next-turn",
    about:
      "A short history and a refused summary: the next prompt is spent on a second try, whose summary hangs on that prompt.",
    async play(stage) {
      await ask(stage, "First question.", [say("First answer.", { usage: CALM })]);
      await compactInVain(stage);
      await ask(stage, "Second question.", [summary("## Objective\n- Answer questions")]);
      await ask(stage, "Third question.", [say("Third answer.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "failed-summary-with-tail",
    about: "A long history and a refused summary: the failed marker has a tail all the same.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding", "printing"]);
      await compactInVain(stage);
      await ask(stage, "Where were we?", [summary("## Objective\n- Explain the project")]);
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "failed-summary-after-good-one",
    about: "A good compaction, then a refused one: the older summary still stands.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compact(stage, "## Objective\n- First summary");
      await longTurns(stage, ["printing", "sorting"]);
      await compactInVain(stage);
      await ask(stage, "Where were we?", [summary("## Objective\n- Second summary")]);
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "failed-summary-then-good-one",
    about: "A refused compaction, its second try, then a good compaction on request.",
    async play(stage) {
      await longTurns(stage, ["parsing", "totals", "rounding"]);
      await compactInVain(stage);
      await ask(stage, "Where were we?", [summary("## Objective\n- Second try")]);
      await longTurns(stage, ["printing"]);
      await compact(stage, "## Objective\n- Good at last");
      await ask(stage, "Go on.", [say("Going on.", { usage: CALM })]);
      return stage.recording();
    },
  },
  {
    name: "summary-too-long",
    about:
      "Even the request for the summary is too long: the summary is an error and the agent stops; the next prompt is answered as if nothing was.",
    async play(stage) {
      await ask(stage, "First question.", [
        say("First answer.", { usage: FULL }),
        refuseLength({ lane: "summary" }),
      ]);
      await ask(stage, "Second question.", [say("Second answer.", { usage: CALM })]);
      await ask(stage, "Third question.", [say("Third answer.", { usage: CALM })]);
      return stage.recording();
    },
  },
];

async function compactInVain(stage: Stage): Promise<void> {
  stage.model.script([refuse("The scripted provider writes no summary.", { lane: "summary" })]);
  await stage.opencode().summarize(stage.sessionId, SHORT_WINDOW);
  await stage.opencode().waitUntilIdle(stage.sessionId);
}

async function summarizeInVain(stage: Stage): Promise<void> {
  const failed = await stage
    .opencode()
    .summarize(stage.sessionId, SHORT_WINDOW)
    .then(() => false)
    .catch(() => true);
  if (!failed) throw new Error("The plugin did not stop the compaction");
  await stage.opencode().waitUntilIdle(stage.sessionId);
}

async function untilSummaryStalls(stage: Stage): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (stage.model.requests.some((request) => request.reply.type === "stall")) break;
    await sleep(50);
  }
  await sleep(300); // The text is stored a moment after it was sent.
}

function throwingPlugin(): string {
  return pathToFileURL("scripts/record-opencode/second-compaction-throws.ts").href;
}
