import { describe, expect, it } from "vitest";
import { fileOf, lineOf, workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { linesInFileOrder } from "../../cli/eval/run-eval.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { createProbe } from "./next-use.ts";
import { chooseProbes, splitAtCompactions } from "./places.ts";

const session = deepFreeze(workingSession({ steps: 40 }));
const probeAt = (atIndex: number, stretch: Transcript = session) =>
  createProbe(stretch, { atIndex, steps: 10 });
const identifiers = (atIndex: number, stretch?: Transcript): readonly string[] =>
  probeAt(atIndex, stretch).targets.map(({ identifier }) => identifier);

describe("createProbe", () => {
  it("gives what the agent used next and had seen before", () => {
    // Step 20 edits the file of step 17; steps 23 on edit files that are read after the probe.
    const found = identifiers(21);
    expect(found).toContain(fileOf(17));
    expect(found).toContain(lineOf(17, 20));
    expect(found).toContain("valueOf_19_20");
    expect(found).not.toContain(lineOf(20, 20));
    expect(probeAt(21).edits).toEqual([[lineOf(17, 20)], [lineOf(18, 20)], [lineOf(19, 20)]]);
  });

  it("leaves out what was shown again before its use", () => {
    const again: Message = { id: "again", role: "user", parts: [{ type: "text", text: lineOf(18, 20) }] };
    const shown = [...session.slice(0, 22), again, ...session.slice(22)];
    expect(identifiers(21, shown)).toContain(lineOf(17, 20));
    expect(identifiers(21, shown)).not.toContain(lineOf(18, 20));
    expect(probeAt(21, shown).edits).toHaveLength(2);
  });

  it("ends at the next summary", () => {
    const summary: Message = {
      id: "s",
      role: "assistant",
      summary: true,
      parts: [{ type: "text", text: "so far" }],
    };
    expect(identifiers(21, [...session.slice(0, 22), summary, ...session.slice(22)])).not.toContain(
      lineOf(18, 20),
    );
  });

  it("knows how old a target is, where it stood, and what would bring it back", () => {
    const line = probeAt(21).targets.find(({ identifier }) => identifier === lineOf(17, 20));
    // Two calls in each of the two messages behind that of step 17.
    expect(line).toMatchObject({ class: "edit-line", callsSince: 4, resultOnly: true });
    expect(line?.places[0]).toMatchObject({
      line: lineOf(17, 20),
      before: lineOf(17, 19),
      after: lineOf(17, 21),
    });
    expect(line?.newestResult?.chars).toBeGreaterThan(2000);
  });

  it("has no neighbours across the border of a block", () => {
    const path = probeAt(21).targets.find(({ identifier }) => identifier === fileOf(17));
    expect(path?.places[0]).toMatchObject({ before: undefined, after: undefined });
  });
});

describe("chooseProbes", () => {
  it("spreads places over the session, after 15 results, at steps of the agent", () => {
    const places = chooseProbes(session, { steps: 10, maxProbes: 8 }).map(({ atIndex }) => atIndex);
    expect(places).toEqual([10, 18, 26, 34]);
    expect(chooseProbes(session, { steps: 10, maxProbes: 2 }).map(({ atIndex }) => atIndex)).toEqual([
      18, 34,
    ]);
  });

  it("finds none in a short session", () => {
    expect(chooseProbes(workingSession({ steps: 6 }), { steps: 10, maxProbes: 8 })).toEqual([]);
  });
});

describe("a recorded session", () => {
  it("is cut into stretches where a summary stands, without instructions, markers and hidden messages", () => {
    const message = (id: string, change: Partial<Message> = {}): Message => ({
      id,
      role: "user",
      parts: [{ type: "text", text: id }],
      ...change,
    });
    const stretches = splitAtCompactions([
      message("rules", { role: "system" }),
      message("a"),
      message("hidden", { metadata: { agentVisible: false } }),
      message("marker", { parts: [{ type: "compaction", trigger: "auto" }] }),
      message("s", { role: "assistant", summary: true }),
      message("b"),
    ]);
    expect(stretches.map((stretch) => stretch.map(({ id }) => id))).toEqual([["a"], ["s", "b"]]);
  });

  it("becomes one chain with the branches that were left, each line once", () => {
    const lines = [
      { uuid: "a", parentUuid: null },
      { uuid: "b", parentUuid: "a" },
      { uuid: "side", parentUuid: "a", isSidechain: true },
      { uuid: "c", parentUuid: "a" },
      { uuid: "c", parentUuid: "a" },
      { type: "title" },
      { uuid: "d", parentUuid: null, logicalParentUuid: "a" },
    ];
    expect(linesInFileOrder(deepFreeze(lines))).toEqual([
      { uuid: "a", parentUuid: null, type: undefined },
      { uuid: "b", parentUuid: "a", type: undefined },
      lines[2],
      { uuid: "c", parentUuid: "b", type: undefined },
      { type: "title" },
      { uuid: "d", parentUuid: "c", type: undefined },
    ]);
  });
});
