import { describe, expect, it } from "vitest";
import { transcript } from "../testing/notation.ts";
import { createIdDeduplicator, withUniqueIds } from "./message.ts";

const history = transcript("u:5 a:3 a:7 u:2");

describe("unique ids", () => {
  it("are those of the messages where no two are the same", () => {
    expect(withUniqueIds(history)).toBe(history);
  });

  it("get a number where one is repeated, and not one that is taken", () => {
    const name = createIdDeduplicator();
    expect(["a", "a", "a~3", "a", "b", "a"].map(name)).toEqual(["a", "a~2", "a~3", "a~4", "b", "a~5"]);
    const same = history.map((message) => ({ ...message, id: "x" }));
    expect(withUniqueIds(same).map(({ id }) => id)).toEqual(["x", "x~2", "x~3", "x~4"]);
  });
});
