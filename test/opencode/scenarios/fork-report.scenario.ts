import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { call, callAll, refuse, say } from "../../rig/model-server/step.ts";
import { scenario, shareRig } from "../harness/scenario.ts";
import { requestWith, textOf, waitForDeliveries } from "./fork-support.ts";
import { runCarryover } from "./window-support.ts";

const shared = shareRig({ plugin: {} });

const REPORT = Array.from({ length: 950 }, (_, line) => `${String(line).padEnd(99, ".")}`).join("\n");

scenario(
  "a report of 95,000 characters is read whole",
  {
    shared,
    proves: "the delivered result counts rightly and says how to read on; the ranges together are the report",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      say(REPORT, { family: "child" }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
    await waitForDeliveries(rig, id, 1);
    const delivered = textOf(requestWith(rig, id, "fork_result delivery"));
    const [, shown] = new RegExp(`these are (\\d+) of ${REPORT.length} characters`).exec(delivered) ?? [];
    expect(delivered).toContain(`[truncated ${REPORT.length - Number(shown)} chars]`);
    expect(delivered).toMatch(/fork_result with id \\"1\\" and range \\"c\d+-\\" reads on/);

    const ranges = Array.from({ length: 12 }, (_, index) => `c${index * 8_000}-${(index + 1) * 8_000}`);
    await rig.turn(id, "Read it.", [
      callAll(
        ["c95000-", "950-", ...ranges].map((range) => ({ tool: "fork_result", input: { id: "1", range } })),
      ),
      say("Read."),
    ]);
    const outputs = (await rig.opencode.messages(id)).flatMap(({ parts }) =>
      parts.flatMap(({ state }) => String((state as { readonly output?: string } | undefined)?.output ?? "")),
    );
    const pieces = outputs.flatMap((output) => {
      const [, from, piece] =
        /characters="(\d+)-\d+" of="\d+">\n([\s\S]*)\n<\/fork_result>/.exec(output) ?? [];
      return piece === undefined ? [] : [{ from: Number(from), piece }];
    });
    const [last, ...all] = pieces;
    expect(last?.piece).toBe(REPORT.slice(-99));
    expect(all.map(({ piece }) => piece).join("")).toBe(REPORT);
    expect(outputs.join()).toContain(`the report of fork 1 has ${REPORT.length} characters`);
  },
);

// In pieces, so that no scanner takes it for a key.
const KEY = ["sk", "proj", "q7Zp4Lm9Xv2Bn6Rt8Ws1Yc3Kd5Hf0Jg4Aa7Ee"].join("-");

scenario(
  "a key in a provider's error is shown to nobody",
  {
    shared,
    proves: "neither the model of its parent nor a toast, what is stored or the command line has it",
  },
  async (rig) => {
    const id = await rig.newSession();
    rig.model.script([
      refuse(`Incorrect API key provided: ${KEY}.`, { family: "child" }),
      say("Seen.", { sessionId: id, contains: "fork_result delivery" }),
    ]);
    await rig.turn(id, "Fork.", [call("fork", { prompt: "Look." }), say("Forked.")]);
    await waitForDeliveries(rig, id, 1);
    await rig.turn(id, "Again.", [call("fork_result", { id: "1" }), say("Seen.")]);
    const sent = rig.requests({ sessionId: id }).map(textOf).join();
    expect(sent).toContain("Incorrect API key provided");
    expect(sent).not.toContain(KEY);
    const toasts = rig.events
      .filter(({ type }) => type === "tui.toast.show")
      .map((event) => JSON.stringify(event));
    expect(toasts.join()).toMatch(/failed/);
    expect(toasts.join()).not.toContain(KEY);
    for (const args of [["forks"], ["forks", "--json"]])
      expect((await runCarryover(rig, ...args)).stdout).not.toContain(KEY);
    const kept = filesUnder(join(rig.sandbox.home, ".local", "share", "carryover"));
    expect(kept.some((text) => text.includes("Incorrect API key provided"))).toBe(true);
    expect(kept.some((text) => text.includes(KEY))).toBe(false);
  },
);

function filesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
}
