import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { sliceFromCompactionBoundary } from "../fork/fork.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { compactionBoundary, filterCompacted, findCompactionBoundary } from "./boundary.ts";

function change(
  messages: Transcript,
  id: string,
  changes: Partial<Message> | ((message: Message) => Message),
): Transcript {
  return messages.map((message) => {
    if (message.id !== id) return message;
    return typeof changes === "function" ? changes(message) : { ...message, ...changes };
  });
}

function drop(messages: Transcript, field: keyof Message): Transcript {
  return messages.map(({ [field]: _, ...message }) => message as Message);
}

const withTail = (tailStartId: string) => (message: Message) => ({
  ...message,
  parts: [{ type: "compaction" as const, trigger: "auto" as const, tailStartId }],
});

const two = transcript("u:1 a:2 m s:30 u:4 m s:50 u:6");

describe.each([
  {
    name: "none",
    messages: transcript("u:1 a:2 u:3"),
    index: -1,
    slice: "u:1 a:2 u:3",
    window: "u:1 a:2 u:3",
  },
  {
    name: "one",
    messages: transcript("u:1 a:2 m s:30 u:4"),
    index: 3,
    slice: "s:30 u:4",
    window: "m s:30 u:4",
  },
  { name: "two: the newest", messages: two, index: 6, slice: "s:50 u:6", window: "m s:50 u:6" },
  {
    name: "a pending newest falls back",
    messages: transcript("u:1 m s:30 u:4 m u:6"),
    index: 2,
    slice: "s:30 u:4 m u:6",
    window: "m s:30 u:4 m u:6",
  },
  {
    name: "a failed newest falls back",
    messages: change(two, "m7", { error: { name: "APIError", text: "no" } }),
    index: 3,
    slice: "s:30 u:4 m s:50 u:6",
    window: "m s:30 u:4 m s:50 u:6",
  },
  {
    name: "an unfinished newest falls back",
    messages: change(two, "m7", ({ finish: _, ...message }) => message),
    index: 3,
    slice: "s:30 u:4 m s:50 u:6",
    window: "m s:30 u:4 m s:50 u:6",
  },
  {
    name: "an empty newest falls back",
    messages: change(two, "m7", { parts: [{ type: "text", text: " " }] }),
    index: 3,
    slice: "s:30 u:4 m s:1 u:6",
    window: "m s:30 u:4 m s:1 u:6",
  },
  {
    name: "no ids: the next summary behind the marker",
    messages: drop(two, "parentId"),
    index: 6,
    slice: "s:50 u:6",
    window: "m s:50 u:6",
  },
  {
    name: "no finish anywhere: not asked for",
    messages: drop(two, "finish"),
    index: 6,
    slice: "s:50 u:6",
    window: "m s:50 u:6",
  },
  {
    name: "a summary of something else does not count",
    messages: change(transcript("u:1 m s:30 u:4"), "m3", { parentId: "m1" }),
    index: -1,
    slice: "u:1 m s:30 u:4",
    window: "u:1 m s:30 u:4",
  },
  {
    name: "a summary whose parent has left does not count for another marker",
    messages: change(transcript("u:1 m s:30 u:4"), "m3", { parentId: "gone" }),
    index: -1,
    slice: "u:1 m s:30 u:4",
    window: "u:1 m s:30 u:4",
  },
  {
    name: "the retained tail stays behind the summary",
    messages: change(transcript("u:1 a:2 u:3 a:4 m s:30 u:6"), "m5", withTail("m3")),
    index: 5,
    slice: "s:30 u:3 a:4 u:6",
    window: "m s:30 u:3 a:4 u:6",
  },
  {
    name: "a tail from the very first message",
    messages: change(transcript("u:3 a:4 m s:30 u:6"), "m3", withTail("m1")),
    index: 3,
    slice: "s:30 u:3 a:4 u:6",
    window: "m s:30 u:3 a:4 u:6",
  },
  {
    name: "a tail that is not there",
    messages: change(transcript("u:3 a:4 m s:30 u:6"), "m3", withTail("gone")),
    index: 3,
    slice: "s:30 u:6",
    window: "m s:30 u:6",
  },
  {
    name: "a tail from before an older compaction is without its marker",
    messages: change(transcript("u:1 m s:30 u:4 m s:50 u:6"), "m5", withTail("m1")),
    index: 5,
    slice: "s:50 u:1 s:30 u:4 u:6",
    window: "m s:50 u:1 m s:30 u:4 u:6",
  },
  { name: "empty input", messages: [], index: -1, slice: "", window: "" },
])("compaction: $name", ({ messages, index, slice, window }) => {
  const frozen = deepFreeze(messages);
  it("finds the boundary", () => expect(findCompactionBoundary(frozen)).toBe(index));
  it("slices what a fork inherits", () => expect(notate(sliceFromCompactionBoundary(frozen))).toBe(slice));
  it("gives the window that a host sends", () => expect(notate(filterCompacted(frozen))).toBe(window));
});

const stage = "compaction-boundary";

/** The marker of m3 keeps the messages from here on. */
function compactedWithTail(tailStartId: string): readonly Message[] {
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

it("leaves system messages where it is asked to", () => {
  const system = { id: "sys", role: "system" as const, parts: [{ type: "text" as const, text: "Obey." }] };
  const history = deepFreeze([system, ...transcript("u:1 a:2 m s:30 u:4")]);
  const hidden = (options: { readonly system?: "hide" | "keep" }) =>
    compactionBoundary({ from: "marker", ...options })(history).map(
      (edit) => "messageId" in edit && edit.messageId,
    );
  expect(hidden({ system: "keep" })).not.toContain("sys");
  expect(hidden({})).toContain("sys");
  expect(filterCompacted(history)).not.toContain(system);
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
    compactionBoundary({ from })(deepFreeze(compactedWithTail(tailStartId))).filter(
      ({ type }) => type === "move-message",
    );
  expect(moves("summary", "m2")).toEqual([moved("m4", "m1")]);
  expect(moves("marker", "m2")).toEqual([moved("m3", "m1"), moved("m4", "m3")]);
  expect(moves("summary", "m1")).toEqual([moved("m4", null)]);
});

it("finds no tail behind the marker, or at it", () => {
  for (const id of ["m3", "m5", "no"]) {
    const edits = compactionBoundary({ from: "marker" })(compactedWithTail(id));
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
