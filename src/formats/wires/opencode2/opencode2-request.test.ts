import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentView } from "../../../../test/rig/content-view.ts";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { RANDOM_STAGES, randomCheck } from "../../../../test/rig/random-history/check-history.ts";
import { lowerToOpencode2Request } from "../../../../test/rig/random-history/lower-to-opencode2.ts";
import { runs } from "../../../../test/rig/runs.ts";
import { repairPairing } from "../../../stages/repair.ts";
import { applyEdits, type Edit, runStages } from "../../../transcript/edit.ts";
import { type Opencode2Request, opencode2Request } from "./opencode2-request.ts";

const AT = { at: 1_700_000_000_000 };

const signed = { openai: { itemId: "rs_1" } };
const call = { type: "tool-call", id: "call_1", name: "shell", input: { command: "ls" } };
const failure = { error: { type: "unknown", message: "no such tool" }, content: [] };
const WIRE: Opencode2Request = deepFreeze([
  { id: "msg_1", role: "user", content: [{ type: "text", text: "look around" }] },
  {
    id: "msg_2",
    role: "assistant",
    content: [
      { type: "reasoning", text: "so", providerMetadata: signed },
      call,
      { ...call, id: "call_2", name: "nosuch" },
    ],
  },
  {
    role: "tool",
    content: [{ type: "tool-result", id: "call_1", name: "shell", result: { type: "text", value: "a b c" } }],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", id: "call_2", name: "nosuch", result: { type: "error", value: failure } },
    ],
  },
  { role: "system", content: [{ type: "text", text: "the date has changed" }] },
]);

describe("the messages of a request of OpenCode 2", () => {
  it("are read with their own ids, each result with its call", () => {
    const transcript = opencode2Request.decode(WIRE);
    expect(notate(transcript)).toMatchInlineSnapshot(`"u:11 a(shell:5,nosuch!12) y:20"`);
    expect(transcript.slice(0, 2).map(({ id }) => id)).toEqual(["msg_1", "msg_2"]);
    expect(transcript[1]?.parts.slice(1)).toMatchObject([
      { callId: "call_1", tool: "shell", outcome: { status: "done", output: "a b c" } },
      { callId: "call_2", outcome: { status: "failed", error: "no such tool" } },
    ]);
  });

  it("keep everything that no edit speaks of as the same objects", () => {
    const edit: Edit = {
      type: "replace-part",
      messageId: "msg_2",
      partIndex: 1,
      part: {
        type: "tool",
        callId: "call_1",
        tool: "shell",
        input: { command: "ls" },
        outcome: { status: "done", output: "a …", attachments: [] },
      },
      stage: "test",
      reason: "test",
    };
    const edited = opencode2Request.apply(WIRE, [edit], AT);
    expect(edited.map((message, index) => message === WIRE[index])).toEqual([true, true, false, true, true]);
    expect(edited[2]).toEqual({
      role: "tool",
      content: [{ type: "tool-result", id: "call_1", name: "shell", result: { type: "text", value: "a …" } }],
    });
  });

  it("are the same whether they are edited or their transcript, and repaired without a fault left", () => {
    fc.assert(
      fc.property(randomCheck(), ({ history, stages, seed }) => {
        const wire = deepFreeze(lowerToOpencode2Request(history)) as unknown as Opencode2Request;
        const chosen = stages.flatMap((number) => RANDOM_STAGES[number]?.stage(seed) ?? []);
        const transcript = opencode2Request.decode(wire);
        const { edits } = runStages(transcript, chosen, AT);
        const edited = opencode2Request.apply(wire, edits, AT);
        expect(contentView(opencode2Request.decode(edited))).toEqual(
          contentView(applyEdits(transcript, edits, AT)),
        );
        const repaired = runStages(transcript, [...chosen, repairPairing], AT);
        expect(opencode2Request.faults(opencode2Request.apply(wire, repaired.edits, AT))).toEqual([]);
        expect(opencode2Request.apply(wire, [], AT)).toBe(wire);
      }),
      { numRuns: runs(400) },
    );
  });
});
