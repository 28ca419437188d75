import { describe, expect, it } from "vitest";
import { readableJson } from "./read-call.ts";

describe("readableJson", () => {
  it.each([
    { name: "a text without escapes", value: { a: "b", c: [1, null] }, text: '{"a":"b","c":[1,null]}' },
    { name: "line breaks and tabs", value: "one\n\ttwo\n", text: '"one\n\ttwo\n"' },
    { name: "quotes", value: 'say "yes"', text: '"say "yes""' },
    { name: "backslashes before letters", value: "C:\\new\\table", text: '"C:\\new\\table"' },
    { name: "an escape first", value: "\nx", text: '"\nx"' },
  ])("writes $name as they were", ({ value, text }) => {
    expect(readableJson(JSON.stringify(value))).toBe(text);
  });

  it("leaves other escapes as they are", () => {
    expect(readableJson(JSON.stringify("a\u0001b\rc\nd"))).toBe('"a\\u0001b\\rc\nd"');
  });

  it("leaves a backslash at the very end as it is", () => {
    expect(readableJson("cut off \\")).toBe("cut off \\");
  });
});
