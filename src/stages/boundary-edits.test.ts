import { expect, it } from "vitest";
import { deepFreeze, transcript } from "../testing/notation.ts";
import type { Message } from "../transcript/message.ts";
import { compactionBoundary } from "./boundary.ts";

const stage = "compaction-boundary";

/** The marker of m3 keeps the messages from here on. */
function withTail(tailStartId: string): readonly Message[] {
  return transcript("u:1 a:2 m s:30 u:4").map((message) =>
    message.id === "m3"
      ? { ...message, parts: [{ type: "compaction", trigger: "auto", tailStartId }] }
      : message,
  );
}

it("says of each message that is summed up how much it is and where to recall it", () => {
  const history = deepFreeze(transcript("u:1 a:2 m s:30 u:4"));
  const hidden = (messageId: string, chars: number) => ({
    type: "hide-message",
    messageId,
    stage,
    reason: "before-compaction",
    omitted: { chars, handle: messageId },
  });
  expect(compactionBoundary({ from: "marker" })(history)).toEqual([hidden("m1", 1), hidden("m2", 2)]);
  expect(compactionBoundary({ from: "summary" })(history)).toEqual([
    hidden("m1", 1),
    hidden("m2", 2),
    hidden("m3", 0),
  ]);
});

it("moves the summary in front of the tail that the host kept, with its marker where that is sent", () => {
  const moved = (messageId: string, after: string | null) => ({
    type: "move-message",
    messageId,
    after,
    stage,
    reason: "retained-tail",
  });
  const moves = (from: "marker" | "summary", tailStartId: string) =>
    compactionBoundary({ from })(deepFreeze(withTail(tailStartId))).filter(
      ({ type }) => type === "move-message",
    );
  expect(moves("summary", "m2")).toEqual([moved("m4", "m1")]);
  expect(moves("marker", "m2")).toEqual([moved("m3", "m1"), moved("m4", "m3")]);
  expect(moves("summary", "m1")).toEqual([moved("m4", null)]);
});

it("finds no tail behind the marker, or at it", () => {
  for (const id of ["m3", "m5", "no"]) {
    const edits = compactionBoundary({ from: "marker" })(withTail(id));
    expect(edits.map(({ type }) => type)).toEqual(["hide-message", "hide-message"]);
  }
});

it("does not hide again what is hidden, and does not see a hidden summary", () => {
  const hide = (id: string) =>
    transcript("u:1 a:2 m s:30 u:4").map((message) =>
      message.id === id ? { ...message, metadata: { agentVisible: false } } : message,
    );
  expect(compactionBoundary({ from: "marker" })(hide("m1"))).toMatchObject([{ messageId: "m2" }]);
  expect(compactionBoundary({ from: "marker" })(hide("m4"))).toEqual([]);
});
