import { expect, it } from "vitest";
import { hashText } from "./hash-text.ts";

it.each([
  ["", 0x811c9dc5],
  ["a", 0xe40c292c],
  ["foobar", 0xbf9cf968],
])("gives %j the published FNV-1a value", (text, hash) => {
  expect(hashText(text)).toBe(hash);
});
