import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { lastStep } from "./last-step.ts";

describe("the last step", () => {
  const file = new URL("../../../../test/recordings/opencode2/plain-tools.json", import.meta.url);
  const { messages } = JSON.parse(readFileSync(file, "utf8")) as { readonly messages: readonly unknown[] };

  it.each([
    { of: 2, step: "read README.md" },
    { of: 4, step: "Seen." },
    { of: 1, step: undefined },
  ])("of $of recorded messages is $step", ({ of, step }) => {
    expect(lastStep(messages.slice(0, of))).toBe(step);
  });

  it("of what is not understood is none", () => {
    expect(lastStep([null, 7, { type: "x" }])).toBeUndefined();
  });
});
