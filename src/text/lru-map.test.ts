import { expect, it } from "vitest";
import { createLruMap } from "./lru-map.ts";

it("holds no more than it may, and forgets what was not used for longest", () => {
  const map = createLruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([1, undefined, 3]);
});

it("counts a value that is set again as used", () => {
  const map = createLruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.set("c", 4);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, undefined, 4]);
});

it("forgets what it is told to forget", () => {
  const map = createLruMap<string, number>(2);
  map.set("a", 1);
  map.delete("a");
  expect(map.get("a")).toBeUndefined();
});

it("names its keys, the one that was not used for longest first", () => {
  const map = createLruMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  expect(map.keys()).toEqual(["b", "a"]);
  map.get("none");
  expect(map.keys()).toEqual(["b", "a"]);
  map.set("c", 3);
  expect(map.keys()).toEqual(["a", "c"]);
});
