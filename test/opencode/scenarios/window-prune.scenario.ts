import { join } from "node:path";
import { describe, expect } from "vitest";
import { createFileJournal } from "../../../src/stores/files/journal.ts";
import { asObject } from "../../../src/text/json.ts";
import type { ModelRequest } from "../../rig/model-server/model-server.ts";
import { call, say } from "../../rig/model-server/step.ts";
import type { Rig } from "../harness/rig.ts";
import { scenario } from "../harness/scenario.ts";

const CLEARED = "[Old tool result content cleared]";

describe("pruning", () => {
  scenario(
    "fifty steps with pruning",
    {
      plugin: {
        prune: "auto",
        pin: ["KEEP-THIS-LINE"],
        models: { "scripted/long-window": { keepRecent: 4_000 } },
      },
      why: "pruning is off by default; with a small limit it begins within fifty steps",
      twin: { none: "pruning is off by default" },
      files: {
        "make.sh":
          'i=0; echo "$1"; while [ $i -lt 150 ]; do echo "$1 line $i of a long report"; i=$((i+1)); done\n',
      },
      proves:
        "old outputs are cleared in batches; every break of the prefix is a journalled batch; pins stay",
    },
    async (rig) => {
      const id = await rig.newSession();
      for (const turn of [1, 2, 3, 4, 5]) {
        const steps = Array.from({ length: 10 }, (_, step) =>
          call("bash", {
            command: `sh make.sh ${turn === 1 && step === 0 ? "KEEP-THIS-LINE" : `report-${turn}-${step}`}`,
            description: "Make a report",
          }),
        );
        await rig.turn(id, `Make ten reports, round ${turn}.`, [...steps, say(`Round ${turn} is done.`)]);
      }
      const requests = rig.requests({ sessionId: id });
      const breaks = requests.flatMap((request, index) =>
        index > 0 && !continues(request, requests[index - 1]) ? [index] : [],
      );
      const batches = await batchesOf(rig, id);
      expect(batches.length).toBeGreaterThan(0);
      expect(breaks.length).toBe(batches.length);
      const last = JSON.stringify(requests.at(-1)?.body);
      expect(last).toContain(CLEARED);
      expect(last).toContain("KEEP-THIS-LINE line 7 of a long report");
      expect(last).toContain("report-5-9 line 149 of a long report");

      await rig.kill9();
      await rig.restart();
      await rig.turn(id, "And once more.", [say("Done.")]);
      const after = rig.requests({ sessionId: id }).at(-1);
      const isLonger = (await batchesOf(rig, id)).length > batches.length;
      expect(continues(after, requests.at(-1))).toBe(!isLonger);
      const cleared = (request: ModelRequest | undefined): number =>
        JSON.stringify(request?.body).split(CLEARED).length - 1;
      expect(cleared(after)).toBeGreaterThanOrEqual(cleared(requests.at(-1)));
    },
  );
});

/** True when a request is the one before it with more at its end. */
function continues(request: ModelRequest | undefined, before: ModelRequest | undefined): boolean {
  const [messages, earlier] = [request, before].map(
    (each) => asObject(each?.body).messages as readonly unknown[],
  );
  return JSON.stringify(messages?.slice(0, earlier?.length)) === JSON.stringify(earlier);
}

async function batchesOf(rig: Rig, sessionId: string): Promise<readonly unknown[]> {
  const root = join(rig.sandbox.home, ".local", "share", "carryover", "journal");
  const { entries } = await createFileJournal({ root, session: sessionId }).read();
  return entries
    .map(({ value }) => asObject(value))
    .filter(({ type, record }) => type === "engine" && asObject(record).type === "batch");
}
