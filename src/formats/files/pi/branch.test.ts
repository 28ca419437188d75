import { expect, it } from "vitest";
import { deepFreeze } from "../../../../test/rig/notation.ts";
import { asObject } from "../../../text/unknown-value.ts";
import { draftsFor, type PiEntry, readBranch, withEdits } from "./branch.ts";

const output = (text: string) => [{ type: "text", text }];
const BRANCH: readonly PiEntry[] = deepFreeze([
  { type: "message", id: "0", message: { role: "system", content: "prompt" } },
  { type: "message", id: "1", message: { role: "user", content: "Look." } },
  {
    type: "message",
    id: "2",
    message: { role: "toolResult", toolCallId: "c1", content: output("a long output") },
  },
  {
    type: "message",
    id: "3",
    message: { role: "toolResult", toolCallId: "c2", content: output("another one") },
  },
]);

/** The branch with entries behind it, as pi appends them. */
function append(branch: readonly PiEntry[], drafts: readonly object[]): readonly PiEntry[] {
  return [...branch, ...drafts.map((draft, at) => ({ ...draft, id: `${branch.length + at}` }) as PiEntry)];
}

/** The window with another content in one entry, or without it. */
function edit(window: readonly PiEntry[], id: string, text: string | undefined): readonly object[] {
  return window.flatMap((entry) => {
    if (entry.id !== id) return [entry];
    return text === undefined
      ? []
      : [{ ...entry, message: { ...asObject(entry.message), content: output(text) } }];
  });
}

it("appends what was edited once, and nothing where pi sends it already", () => {
  const view = readBranch(BRANCH);
  expect(draftsFor(view, view.window)).toEqual([]);
  const drafts = draftsFor(view, edit(view.window, "2", "short"));
  expect(drafts).toEqual([
    { type: "custom", customType: "carryover", data: { edited: ["2"] } },
    { type: "context_edit", targetId: "2", replacement: { content: output("short") } },
  ]);
  const after = readBranch(append(BRANCH, drafts));
  // Edits of ours are not in the window: each time all of them are decided on the originals.
  expect(after.window).toEqual(view.window);
  expect(draftsFor(after, edit(after.window, "2", "short"))).toEqual([]);
  const [, back] = draftsFor(after, after.window);
  expect(back).toEqual({
    type: "context_edit",
    targetId: "2",
    replacement: { content: output("a long output") },
  });
});

it("takes an edit of another extension for what the entry says, and leaves out what it leaves out", () => {
  const others = [
    { type: "context_edit", targetId: "2", replacement: { content: output("theirs") } },
    { type: "context_edit", targetId: "3", replacement: null },
  ];
  const { window } = readBranch(append(BRANCH, others));
  expect(window.map(({ id, message }) => [id, asObject(message).content])).toEqual([
    ["1", "Look."],
    ["2", output("theirs")],
  ]);
});

it("leaves an entry out that is gone from the window", () => {
  const view = readBranch(BRANCH);
  const [, draft] = draftsFor(view, edit(view.window, "3", undefined));
  expect(draft).toEqual({ type: "context_edit", targetId: "3", replacement: null });
});

it("begins with what the newest compaction kept, whose summary only a request can change", () => {
  const summary = { type: "compaction", summary: "Looked.", firstKeptEntryId: "3" };
  const view = readBranch(append(BRANCH, [summary]));
  const { window } = view;
  expect(window.map(({ id, parentId }) => [id, parentId])).toEqual([
    ["3", null],
    ["4", "3"],
  ]);
  const edited = window.map((entry) => (entry.id === "4" ? { ...entry, summary: "Looked. PINNED" } : entry));
  const messages = [{ role: "compactionSummary", summary: "Looked." }, { role: "user" }];
  expect(withEdits(messages, { ...view, edited })).toEqual([
    { role: "compactionSummary", summary: "Looked. PINNED" },
    { role: "user" },
  ]);
  expect(withEdits(messages, { ...view, edited: window })).toBe(messages);
});

const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "signed" };
const answer = (...content: readonly object[]) => ({
  role: "assistant",
  timestamp: 5,
  responseId: "msg_1",
  content,
});
const ANSWERED = append(BRANCH, [
  { type: "message", message: answer(thinking, { type: "text", text: "Seen." }) },
  { type: "message", message: { ...answer(thinking), responseId: "msg_2" } },
]);

/** The window without thoughts, as the format writes it: an answer of nothing else is gone. */
const withoutThoughts = (window: readonly PiEntry[]): readonly object[] =>
  window.flatMap((entry) => {
    const { role, content } = asObject(entry.message);
    if (role !== "assistant") return [entry];
    const rest = (content as readonly object[]).filter((block) => block !== thinking);
    return rest.length === 0 ? [] : [{ ...entry, message: { ...asObject(entry.message), content: rest } }];
  });

it("sends a request as it was edited before that is in the session, and no other way once it is", () => {
  const view = readBranch(ANSWERED);
  const edited = withoutThoughts(edit(view.window, "2", "short") as PiEntry[]);
  const result = { role: "toolResult", toolCallId: "c1", content: output("a long output") };
  const sent = [
    { role: "system", content: "prompt" },
    { role: "user", content: "Look." },
    result,
    { role: "custom", content: "of another extension" },
    answer(thinking, { type: "text", text: "Seen." }),
    { ...answer(thinking), responseId: "msg_2" },
  ];
  const shown = withEdits(sent, { ...view, edited });
  expect(shown.map(({ content }) => content)).toEqual([
    "prompt",
    "Look.",
    expect.anything(),
    "of another extension",
    [{ type: "text", text: "Seen." }],
    [],
  ]);
  const stored = append(ANSWERED, draftsFor(view, edited));
  const again = readBranch(stored);
  expect(withEdits(shown, { ...again, edited })).toBe(shown);
  expect(draftsFor(again, edited)).toEqual([]);
  // What was taken back is sent at once, also an answer of nothing but thoughts.
  expect(withEdits(shown, { ...again, edited: again.window }).slice(-2)).toEqual(sent.slice(-2));
});

it("leaves alone what another extension changed in a message that we did not edit", () => {
  const view = readBranch(ANSWERED);
  const sent = [answer({ type: "text", text: "theirs" })];
  expect(withEdits(sent, { ...view, edited: view.window })).toBe(sent);
});

it("puts back at its place what is left out in the session and wanted again", () => {
  const view = readBranch(ANSWERED);
  const gone = view.window.filter(({ id }) => id !== "1" && id !== "3");
  const stored = readBranch(append(ANSWERED, draftsFor(view, gone)));
  const messages = stored.window.map(({ message }) => asObject(message));
  const [look, long, another, ...answers] = messages;
  const system = { role: "system", content: "prompt" };
  const sent = [system, asObject(long), ...answers];
  expect(withEdits(sent, { ...stored, edited: gone })).toBe(sent);
  expect(withEdits(sent, { ...stored, edited: stored.window })).toEqual([
    system,
    look,
    long,
    another,
    ...answers,
  ]);
});

it("puts it back behind the summary that stands first in a request", () => {
  const summary = { type: "compaction", summary: "Looked.", firstKeptEntryId: "2" };
  const after = { type: "message", message: { role: "user", content: "Go on.", timestamp: 9 } };
  const view = readBranch(append(ANSWERED, [summary, after]));
  const gone = view.window.filter(({ id }) => id !== "2" && asObject(view.window.at(-1)).id !== id);
  const stored = readBranch(append(append(ANSWERED, [summary, after]), draftsFor(view, gone)));
  const messages = new Map(stored.window.map(({ id, message }) => [id, asObject(message)]));
  const first = { role: "compactionSummary", summary: "Looked." };
  const rest = ["3", "4", "5"].map((id) => asObject(messages.get(id)));
  expect(withEdits([first, ...rest], { ...stored, edited: stored.window })).toEqual([
    first,
    messages.get("2"),
    ...rest,
    after.message,
  ]);
});
