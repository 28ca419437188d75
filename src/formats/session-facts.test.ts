import { describe, expect, it } from "vitest";
import { sessionFactsOf } from "./session-facts.ts";

describe("the working directory of a recorded session", () => {
  it.each([
    { name: "an OpenCode export", wire: { info: { directory: "/home/dev/app" } } },
    {
      name: "lines that name it",
      wire: [{ type: "summary" }, { cwd: "/home/dev/app" }, { cwd: "/elsewhere" }],
    },
    { name: "a Codex head", wire: [{ payload: { cwd: "/home/dev/app" } }] },
  ])("is read from $name", ({ wire }) => {
    expect(sessionFactsOf(wire).workingDirectory).toBe("/home/dev/app");
  });

  it("is undefined where none is named", () => {
    for (const wire of [undefined, null, "x", [], [3], { info: {} }])
      expect(sessionFactsOf(wire).workingDirectory).toBeUndefined();
  });
});
