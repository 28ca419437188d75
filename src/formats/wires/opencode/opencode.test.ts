import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyOpenCodeMessages } from "../../../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../../../test/rig/runs.ts";
import { formatLaws } from "../../../testing/format-contract.ts";
import type { Edit } from "../../../transcript/edit.ts";
import type { Message } from "../../../transcript/message.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import type { OpenCodeWire, SessionMessage } from "./decode-messages.ts";
import { opencode } from "./opencode.ts";

function laws(wire: OpenCodeWire) {
  return formatLaws<OpenCodeWire>({
    format: opencode,
    wire,
    expectEqual: (actual, expected) => expect(actual).toEqual(expected),
  });
}

describe("the laws of a format", () => {
  it("hold on any history", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, (history) => {
        for (const law of laws(history)) law.check();
      }),
      { numRuns: runs(1_000) },
    );
  });

  const folder = new URL("../../../../test/recordings/opencode/", import.meta.url);
  describe.each(readdirSync(folder).filter((name) => name.endsWith(".json")))("recorded: %s", (name) => {
    const recorded = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as {
      messages: SessionMessage[];
    };
    it.each(laws(recorded.messages).map((law) => [law.name, law] as const))("%s", (_, law) => law.check());
  });
});

it("a call that Gemini signed for all calls of its step is known as such", () => {
  const call = { type: "tool", tool: "bash", callID: "c", state: { status: "pending", input: {} } };
  const parts = [
    { ...call, metadata: { google: { thoughtSignature: "s1" } } },
    { ...call, callID: "d" },
  ];
  const [answer] = opencode.decode([{ info: { id: "a", role: "assistant" }, parts }]);
  expect(answer?.parts.map((part) => part.type === "tool" && part.signed)).toEqual([true, undefined]);
});

it("a call that an edit moves behind its separate result keeps its outcome", () => {
  const wire = [
    { info: { id: "a", role: "assistant" }, parts: [{ type: "tool", tool: "bash", callID: "c", input: {} }] },
    {
      info: { id: "b", role: "user" },
      parts: [
        { type: "text", text: "so" },
        { type: "tool_result", callID: "c", text: "out" },
      ],
    },
  ];
  const move: Edit = { type: "move-message", messageId: "a", after: "b", stage: "test", reason: "test" };
  const moved = opencode.decode(opencode.apply(wire, [move], { at: 1 }));
  expect(moved.map((message) => message.id)).toEqual(["b", "a"]);
  expect(moved[1]?.parts).toMatchObject([{ callId: "c", outcome: { status: "done", output: "out" } }]);
  expect(opencode.faults(opencode.apply(wire, [move], { at: 1 }))).toEqual([]);
});

it("an attachment keeps its bytes when an edit shortens the output beside it", () => {
  const attachments = ["AAAA", "BBBBBBBB"].map((data) => ({
    type: "file",
    mime: "image/png",
    url: `data:image/png;base64,${data}`,
  }));
  const state = { status: "completed", input: {}, output: "long", attachments };
  const wire = [
    { info: { id: "a", role: "assistant" }, parts: [{ type: "tool", tool: "shot", callID: "c", state }] },
  ];
  const part = opencode.decode(wire)[0]?.parts[0];
  if (part?.type !== "tool" || part.outcome.status !== "done") throw new Error("this is a finished call");
  const files = part.outcome.attachments;
  const shorter = (kept: number): Edit => ({
    type: "replace-part",
    messageId: "a",
    partIndex: 0,
    part: {
      ...part,
      outcome: { status: "done", output: "short", attachments: files.slice(-kept) },
    } as ToolPart,
    stage: "test",
    reason: "test",
  });
  const stateAfter = (kept: number) => opencode.apply(wire, [shorter(kept)], { at: 1 })[0]?.parts[0]?.state;
  expect(stateAfter(2)).toMatchObject({ output: "short", attachments });
  expect(stateAfter(1)).toMatchObject({ output: "short", attachments: attachments.slice(1) });
});

it("a summary that an edit inserts is written by the agent that writes OpenCode's own", () => {
  const wire: OpenCodeWire = [{ info: { id: "u", role: "user" }, parts: [{ type: "text", text: "hi" }] }];
  const insert = (message: Message): Edit => ({
    type: "insert-message",
    message,
    after: "u",
    stage: "test",
    reason: "summarized",
  });
  const parts = [{ type: "text", text: "so far" }] as const;
  const inserted = (summary: object) =>
    opencode.apply(wire, [insert({ id: "s", role: "assistant", parts, ...summary })], { at: 1 })[1]?.info;
  expect(inserted({ summary: true, finish: "stop" })).toMatchObject({
    mode: "compaction",
    agent: "compaction",
    summary: true,
  });
  expect(inserted({})).not.toHaveProperty("agent");
  const info = { ...inserted({ summary: true, finish: "stop" }), id: "s", role: "assistant" };
  expect(opencode.decode([{ info, parts: [] }])[0]).toMatchObject({ summary: true, agent: "compaction" });
});
