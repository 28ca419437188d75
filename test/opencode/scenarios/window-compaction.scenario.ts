import { expect } from "vitest";
import { batchesInForce } from "../../../src/plugin/stores/edits-in-force.ts";
import { say } from "../../rig/model-server/step.ts";
import { LONG_WINDOW, MIDDLE_WINDOW } from "../../rig/opencode/sandbox.ts";
import { scenario } from "../harness/scenario.ts";
import { handlesIn, journalOf, longPrompt, makeReports, REPORT_FILES } from "./window-support.ts";

const FULL = { inputTokens: 83_995, outputTokens: 10 };

scenario(
  "pruning, thresholds and the host's compaction",
  {
    plugin: {
      prune: "auto",
      toolOutput: false,
      models: {
        "scripted/long-window": { pruneAt: "90%", keepTokens: 1_000, facts: { cache: "none" } },
        "scripted/middle-window": { pruneAt: 1_000, keepTokens: "1%", facts: { cache: "none" } },
      },
    },
    why: "each model is given its own threshold, and by default nothing is pruned before the window is nearly full",
    twin: "sixty steps in a window of 64,000 tokens",
    files: REPORT_FILES,
    proves:
      "each model has its own threshold; the request for a summary sees what was cleared; pruning goes on after it",
  },
  async (rig) => {
    const id = await rig.newSession();
    const lastRequest = () => rig.requests({ sessionId: id }).at(-1);
    await rig.turn(
      id,
      { text: "Make four.", model: LONG_WINDOW },
      makeReports(["first", "second", "third", "fourth"]),
    );
    for (const turn of [2, 3, 4])
      await rig.turn(id, { text: longPrompt(`Turn ${turn}.`), model: LONG_WINDOW }, [say("Seen.")]);
    expect(handlesIn(lastRequest())).toEqual([]);

    for (const turn of [5, 6])
      await rig.turn(id, { text: longPrompt(`Turn ${turn}.`), model: MIDDLE_WINDOW }, [say("Seen.")]);
    expect(handlesIn(lastRequest())).not.toEqual([]);

    await rig.turn(id, { text: "Fill it.", model: MIDDLE_WINDOW }, [
      say("Full.", { usage: FULL }),
      say("## Objective\n- Go on", { lane: "summary" }),
      say("Nothing is left."),
    ]);
    const [summary] = rig.requests({ sessionId: id, lane: "summary" });
    const asked = JSON.stringify(summary?.body);
    expect(asked).toContain("first line 7 of a long report");
    expect(handlesIn(summary)).toEqual([]);

    const before = batchesInForce(await journalOf(rig, id)).length;
    await rig.turn(
      id,
      { text: "Make four more.", model: MIDDLE_WINDOW },
      makeReports(["fifth", "sixth", "seventh", "eighth"]),
    );
    for (const turn of [7, 8, 9])
      await rig.turn(id, { text: longPrompt(`Turn ${turn}.`), model: MIDDLE_WINDOW }, [say("Seen.")]);
    expect(JSON.stringify(lastRequest()?.body)).toContain("## Objective");
    expect(handlesIn(lastRequest())).not.toEqual([]);
    expect(batchesInForce(await journalOf(rig, id)).length).toBeGreaterThan(before);
  },
);
