import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineOf, workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze, transcript } from "../../../test/rig/notation.ts";
import { runs } from "../../../test/rig/runs.ts";
import type { Message } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER } from "../../transcript/part.ts";
import { plainLengths, plainMessages } from "../probe/history-text.ts";
import { BUILT_IN_POLICIES, type EvalPolicy } from "./policies.ts";

const session = deepFreeze(workingSession({ steps: 40 }));
const run = (name: string, ...args: Parameters<EvalPolicy["run"]>): string =>
  BUILT_IN_POLICIES.find((policy) => policy.name === name)?.run(...args) ?? "";

describe.each(BUILT_IN_POLICIES.map((policy) => [policy.name, policy] as const))("%s", (_, policy) => {
  it("never exceeds its budget and always gives the same text", () => {
    const word = fc.oneof(
      fc.nat(3000).map((chars) => `u:${chars}`),
      fc
        .tuple(fc.nat(300), fc.constantFrom("bash", "read"), fc.nat(9000))
        .map(([said, tool, chars]) => `a:${said}(${tool}:${chars})`),
      fc.constantFrom("a(bash?)", "a(bash!700)", "s:200"),
    );
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 25 }),
        fc.integer({ min: 512, max: 20_000 }),
        (words, budgetChars) => {
          const messages = deepFreeze(transcript(words.join(" ")));
          const text = policy.run(messages, budgetChars);
          expect(text.length).toBeLessThanOrEqual(budgetChars);
          expect(policy.run(messages, budgetChars)).toBe(text);
        },
      ),
      { numRuns: runs(60) },
    );
  });

  it("says in a line what stays", () => {
    expect(policy.explain).toMatch(/^[a-z].{10,}[^.]$/);
    expect(policy.run([], 1000)).toBe("");
  });
});

describe("the baselines", () => {
  const whole = plainMessages(session).join("");

  it("keep everything where everything fits", () => {
    for (const name of ["last-N", "hybrid-50"]) expect(run(name, session, whole.length)).toBe(whole);
  });

  it("differ in what they give up", () => {
    const budgetChars = 40_000;
    expect(whole.endsWith(run("last-N", session, budgetChars))).toBe(true);
    expect(run("uniform-1500", session, budgetChars)).not.toContain(lineOf(39, 39));
    const masked = run("mask-10", session, budgetChars);
    expect(masked).toContain(lineOf(30, 39));
    expect(masked).not.toContain(lineOf(29, 39));
    expect(masked).toContain(CLEARED_PLACEHOLDER);
    const pruned = run("prune-protect", session, budgetChars);
    expect(pruned).toContain(lineOf(33, 0));
    expect(pruned).not.toContain(lineOf(20, 39));
    const hybrid = run("hybrid-50", session, budgetChars);
    expect(hybrid.endsWith(plainMessages(session).slice(-5).join(""))).toBe(true);
    expect(hybrid).toContain(lineOf(0, 0));
    expect(hybrid).not.toContain(lineOf(0, 39));
  });

  it("know how long a message will be without writing it", () => {
    expect(plainLengths(session)).toEqual(plainMessages(session).map(({ length }) => length));
  });
});

describe("local-summary", () => {
  const edit = (path: string, lines: string): Message => ({
    id: `e-${path}`,
    role: "assistant",
    parts: [
      {
        type: "tool",
        callId: path,
        tool: "Edit",
        input: { file_path: path, old_string: "before", new_string: lines },
        outcome: { status: "done", output: `The file ${path} has been updated.`, attachments: [] },
      },
    ],
  });
  const old = edit("/w/first-changed.ts", "const firstChanged = loadEverything();");
  const newest = edit(
    "/w/last.ts",
    Array.from({ length: 9 }, (_, at) => `const lastLine${at} = compute(${at} * 7);`).join("\n"),
  );

  it("names the files that were changed, however long ago, and keeps the lines that were written last", () => {
    const messages = deepFreeze([old, ...session, newest]);
    const text = run("local-summary", messages, 6_000);
    expect(text).toContain("first-changed.ts");
    for (let at = 0; at < 9; at++) expect(text).toContain(`const lastLine${at} = compute(${at} * 7);`);
    expect(run("fill", messages, 4_000)).not.toContain("first-changed.ts");
  });

  it("has no frame around nothing", () => {
    expect(run("local-summary", session, 6_000)).not.toMatch(/^\[Tool result\]$/m);
  });
});
