import fc from "fast-check";
import { expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { hasIdentifier } from "./identifiers.ts";

const SYMBOL_PATTERN = /[A-Za-z_][A-Za-z0-9_]{5,}/g;

it("finds a symbol exactly where it is a word of its own", () => {
  const unit = fc.constantFrom("a", "b", "B", "1", "_", ".", " ");
  fc.assert(
    fc.property(
      fc.string({ unit, minLength: 6, maxLength: 7 }),
      fc.array(fc.string({ unit, maxLength: 3 }), { maxLength: 6 }),
      (identifier, between) => {
        const words: readonly string[] = identifier.match(SYMBOL_PATTERN) ?? [];
        fc.pre(words[0] === identifier);
        const text = between.join(identifier);
        const found: readonly string[] = text.match(SYMBOL_PATTERN) ?? [];
        expect(hasIdentifier(text, { identifier, class: "symbol" })).toBe(found.includes(identifier));
      },
    ),
    { numRuns: runs(2000) },
  );
});

it("finds anything else wherever it stands", () => {
  expect(hasIdentifier("see xsrc/a.tsx", { identifier: "src/a.ts", class: "path" })).toBe(true);
  expect(hasIdentifier("see src/b.ts", { identifier: "src/a.ts", class: "path" })).toBe(false);
});
