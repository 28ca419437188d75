import { expect, it } from "vitest";
import { createContextFrame } from "./stats.ts";

it("says how many messages are missing, and is as long as it says", () => {
  const frame = createContextFrame(undefined);
  expect(frame.open(0)).toBe("<inherited_context>");
  expect(frame.open(1)).toBe("<inherited_context>\n[1 earlier message omitted]");
  expect(frame.open(2)).toBe("<inherited_context>\n[2 earlier messages omitted]");
  expect(frame.chars(2)).toBe(frame.open(2).length + frame.close.length);
});

it("names a session the same on every machine", () => {
  expect(createContextFrame("ses_1").open(0)).toBe('<inherited_context n="kodcaq">');
  expect(createContextFrame("").open(0)).toBe('<inherited_context n="ztntfp">');
});
