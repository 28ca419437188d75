import { describe, expect, it } from "vitest";
import { globToRegExp, isGlob } from "./pins.ts";

describe("a pin", () => {
  it.each(["AGENTS.md", "docs/*.md", "src/**", "**/RULES.txt"])("%s names files", (pin) => {
    expect(isGlob(pin)).toBe(true);
  });
  it.each(["the port is 4711", "KEEP-THIS-LINE", "never push.", "look in src/a.ts first"])(
    "%s is a text",
    (pin) => {
      expect(isGlob(pin)).toBe(false);
    },
  );
});

describe("a pattern", () => {
  it.each([
    ["AGENTS.md", "AGENTS.md", true],
    ["AGENTS.md", "/home/me/project/AGENTS.md", true],
    ["AGENTS.md", "OLD-AGENTS.md", false],
    ["AGENTS.md", "AGENTSxmd", false],
    ["docs/*.md", "docs/a.md", true],
    ["docs/*.md", "docs/deep/a.md", false],
    ["docs/**/*.md", "docs/a.md", true],
    ["docs/**/*.md", "docs/deep/er/a.md", true],
    ["docs/**", "docs/deep/a.txt", true],
    ["./docs/?.md", "docs/a.md", true],
    ["/docs/?.md", "docs/ab.md", false],
    ["a+(b).md", "a+(b).md", true],
  ] as const)("%s on %s: %s", (glob, path, matches) => {
    expect(globToRegExp(glob).test(path)).toBe(matches);
  });
});
