import { expect } from "vitest";
import { outcomeText } from "../../../src/transcript/content.ts";
import { callAll, say } from "../../rig/model-server/step.ts";
import { ANTHROPIC_WINDOW, LONG_WINDOW, RESPONSES_WINDOW } from "../../rig/opencode/sandbox.ts";
import { sharedPrefix, toolNamesOf } from "../../rig/opencode/shared-prefix.ts";
import { PROBE } from "./probe.ts";
import { describeHosts } from "./scenario.ts";

describeHosts("the rig", (host) => {
  const shared = host.shareRig({ probes: { probe: PROBE } });

  for (const { wire, model } of [
    { wire: "openai-chat", model: LONG_WINDOW },
    { wire: "openai-responses", model: RESPONSES_WINDOW },
    { wire: "anthropic", model: ANTHROPIC_WINDOW },
  ] as const) {
    host.scenario(
      `a turn with tools on the wire ${wire}`,
      { shared, proves: "the host runs both calls, repeats the prefix and stores what was said" },
      async (rig) => {
        const id = await rig.newSession();
        await rig.turn(id, { text: "What is here?", model }, [
          callAll([rig.tools.run("cat README.md"), { tool: "probe", input: {} }], { reasoning: "Look." }),
          say("That is all."),
        ]);
        const [first, second] = rig.requests({ sessionId: id, wire });
        if (first === undefined || second === undefined) throw new Error("Two requests were expected");
        expect(sharedPrefix(first, second).share).toBe(1);
        expect(toolNamesOf(second)).toContain("probe");
        const parts = (await rig.transcript(id)).flatMap((message) => message.parts);
        expect(parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).toEqual([
          "What is here?",
          "That is all.",
        ]);
        const outputs = parts.flatMap((part) => (part.type === "tool" ? [outcomeText(part.outcome)] : []));
        expect(outputs[0]).toContain("# Project");
        expect(outputs[1]).toBe("probed");
        expect(await rig.isBusy(id)).toBe(false);
        expect(rig.events.some(({ properties }) => properties.sessionID === id)).toBe(true);
      },
    );
  }

  host.scenario(
    "a message that is taken back, and one that is not",
    { shared, proves: "after undo the model does not read it, after undo and redo it does" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "One.", [say("First.")]);
      await rig.turn(id, "Two.", [say("Second.")]);
      await rig.undo(id);
      await rig.redo(id);
      await rig.turn(id, "Three.", [say("Third.")]);
      await rig.undo(id);
      await rig.turn(id, "Four.", [say("Fourth.")]);
      const last = JSON.stringify(rig.requests({ sessionId: id }).at(-1)?.body);
      expect(last).toContain("Second.");
      expect(last).not.toContain("Third.");
    },
  );

  host.scenario(
    "a compaction that a person asks for",
    { shared, proves: "the summary is asked for on its own lane and read afterwards" },
    async (rig) => {
      const id = await rig.newSession();
      await rig.turn(id, "One.", [say("First.")]);
      rig.model.script([say("## Objective\n- SUMMARY-ONE", { lane: "summary", sessionId: id })]);
      await rig.compact(id);
      await rig.turn(id, "Two.", [say("Second.")]);
      expect(rig.requests({ sessionId: id, lane: "summary" })).toHaveLength(1);
      expect(JSON.stringify(rig.requests({ sessionId: id }).at(-1)?.body)).toContain("SUMMARY-ONE");
    },
  );

  host.scenario(
    "a turn that a person stops",
    { shared, proves: "the session is idle again and answers the next message" },
    async (rig) => {
      const id = await rig.newSession();
      rig.model.script([{ sessionId: id, ...callAll([rig.tools.run("sleep 30")]) }]);
      await rig.promptInBackground(id, "Wait.");
      await rig.waitFor(() => rig.requests({ sessionId: id }).length === 1, "the request");
      expect(await rig.isBusy(id)).toBe(true);
      await rig.interrupt(id);
      await rig.waitUntilIdle(id);
      await rig.turn(id, "Go on.", [say("On.")]);
    },
  );

  host.scenario(
    "kill -9 and restart",
    { start: "later", proves: "sessions survive, and the second instance reads what the first one wrote" },
    async (rig) => {
      await rig.restart();
      const id = await rig.newSession("Kept");
      await rig.turn(id, "One.", [say("First.")]);
      await rig.kill9();
      await expect((async () => rig.turn(id, "Nobody hears."))()).rejects.toThrow("not running");
      await rig.restart();
      await rig.turn(id, "Two.", [say("Second.")]);
      expect(JSON.stringify(rig.requests({ sessionId: id }).at(-1)?.body.messages)).toContain("First.");
    },
  );
});
