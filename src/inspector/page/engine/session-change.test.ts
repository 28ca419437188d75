import { expect, it } from "vitest";
import type { Message } from "../../../transcript/message.ts";
import type { InspectedSession } from "../../view/types.ts";
import { diffSession, patchSession } from "./answer.ts";

const messageOf = (text: string): Message => ({ id: text, role: "user", parts: [{ type: "text", text }] });
const sessionOf = (...texts: readonly string[]): InspectedSession => ({
  name: "made",
  format: "opencode",
  windowTokens: 1_000,
  windowKnown: true,
  transcript: texts.map(messageOf),
  redactedSecrets: 0,
  problems: [],
});
const batches = [{ id: "b", at: 1, step: "prune", reason: "it pays", edits: [] }] as unknown as NonNullable<
  InspectedSession["batches"]
>;

it.each([
  { name: "all of a new session", before: undefined, after: sessionOf("a", "b") },
  { name: "nothing", before: sessionOf(), after: sessionOf() },
  { name: "a longer session", before: sessionOf("a"), after: sessionOf("a", "b", "c") },
  { name: "a shorter session", before: sessionOf("a", "b", "c"), after: sessionOf("a") },
  { name: "another head", before: sessionOf("a"), after: { ...sessionOf("a"), title: "A title" } },
  { name: "a head that is gone", before: { ...sessionOf("a"), title: "A title" }, after: sessionOf("a") },
  { name: "edits that are new", before: sessionOf("a"), after: { ...sessionOf("a"), batches } },
  { name: "edits that were taken back", before: { ...sessionOf("a"), batches }, after: sessionOf("a") },
])("carries $name", ({ before, after }) => {
  expect(patchSession(before, structuredClone(diffSession(before, after)))).toEqual(after);
});

it("names only messages that are other objects, and keeps the rest", () => {
  const before = sessionOf("a", "b", "c");
  const after = { ...before, transcript: before.transcript.with(1, messageOf("B")) };
  const change = diffSession(before, after);
  expect(change.changes.map(({ index }) => index)).toEqual([1]);
  expect(patchSession(before, change).transcript[2]).toBe(before.transcript[2]);
});
