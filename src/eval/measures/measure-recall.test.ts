import { describe, expect, it } from "vitest";
import type { Transcript } from "../../transcript/message.ts";
import type { LocatedTarget } from "../probe/next-use.ts";
import { createRecallSearch } from "./measure-recall.ts";

const line = "const foldAngle = wing.maximum / 2;";
const history: Transcript = [
  {
    id: "m1",
    role: "user",
    parts: [{ type: "text", text: `before it stands this\n${line}\nand after it that` }],
  },
  { id: "m2", role: "assistant", parts: [{ type: "text", text: "nothing of the kind\n".repeat(900) }] },
];
const target: LocatedTarget = {
  identifier: "foldAngle",
  class: "symbol",
  callsSince: 1,
  resultOnly: false,
  newestResult: undefined,
  places: [{ snippet: line, line, before: "before it stands this", after: "and after it that" }],
};

describe("createRecallSearch", () => {
  const search = createRecallSearch(history);

  it("finds a target by the words that stood around it", () => {
    expect(search(target, new Set("the wing has a maximum".toLowerCase().split(" ")))).toBe(true);
  });

  it("finds nothing when none of these words is known any more", () => {
    expect(search(target, new Set("quite other things".toLowerCase().split(" ")))).toBe(false);
  });

  it("does not ask for the target itself", () => {
    expect(search(target, new Set("foldAngle".toLowerCase().split(" ")))).toBe(false);
  });

  it("does not find what the passages that fit do not hold", () => {
    expect(search(target, new Set("nothing kind".toLowerCase().split(" ")))).toBe(false);
  });
});
