import { expect } from "vitest";
import { batchesInForce } from "../../../src/plugin/stores/edits-in-force.ts";
import { say } from "../../rig/model-server/step.ts";
import { scenario } from "../harness/scenario.ts";
import { handlesIn, journalOf, longPrompt, makeReports, messagesOf, REPORT_FILES } from "./window-support.ts";

const PRUNING = {
  prune: "auto",
  toolOutput: false,
  models: { "scripted/long-window": { keepTokens: 1_000, facts: { cache: "none" } } },
};

const OPTIONS = {
  why: "only an edit can hide a pin, and pruning, which makes the edits, waits for a full window by default",
  twin: "the summary's request with default options",
} as const;

scenario(
  "pins outlive edits",
  {
    plugin: { ...PRUNING, pin: ["first line 7 of"] },
    ...OPTIONS,
    files: REPORT_FILES,
    proves:
      "a pinned text and a #pin message stay; an edit that hides a new pin is taken back and journalled",
  },
  async (rig) => {
    const id = await rig.newSession();
    const lastRequest = () => rig.requests({ sessionId: id }).at(-1);
    const shown = () => JSON.stringify(messagesOf(lastRequest()));
    await rig.turn(
      id,
      "Remember #pin the port is 4711.",
      makeReports(["first", "second", "third", "fourth", "fifth"]),
    );
    for (const turn of [2, 3, 4]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
    expect(handlesIn(lastRequest())).not.toEqual([]);
    expect(shown()).toContain("first line 7 of a long report");
    expect(shown()).not.toContain("second line 7 of a long report");
    expect(shown()).toContain("#pin the port is 4711.");
    const [batch] = batchesInForce(await journalOf(rig, id));
    const { tokensBefore = 0, tokensAfter = 0 } = batch?.batch ?? {};
    expect(tokensBefore - tokensAfter).toBeGreaterThan(10_000);

    await rig.kill9();
    await rig.restart({ plugin: { ...PRUNING, pin: ["second line 7 of"] }, ...OPTIONS });
    await rig.turn(id, "And now?", [say("Seen.")]);
    expect(shown()).toContain("second line 7 of a long report");
    expect(handlesIn(lastRequest())).toEqual([]);
    const kept = (await journalOf(rig, id)).filter(({ type }) => type === "pins-kept");
    expect(kept).toMatchObject([{ batches: [batch?.batch.id] }]);

    for (const turn of [5, 6, 7, 8, 9]) await rig.turn(id, longPrompt(`Turn ${turn}.`), [say("Seen.")]);
    expect(handlesIn(lastRequest())).not.toEqual([]);
    expect(shown()).toContain("second line 7 of a long report");
    expect(shown()).not.toContain("first line 7 of a long report");
  },
);
