import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../test/rig/runs.ts";
import { matches } from "../../agents/opencode/rule-pattern.ts";
import { limitRules, type PermissionRule } from "./limit-rules.ts";

/** In one line: `edit * deny, edit docs/* allow`. */
function rules(text: string): readonly PermissionRule[] {
  return text
    .split(", ")
    .filter((line) => line !== "")
    .map((line) => {
      const [permission = "", ...rest] = line.split(" ");
      const action = rest.pop() as PermissionRule["action"];
      return { permission, pattern: rest.join(" "), action };
    });
}

const write = (list: readonly PermissionRule[]): string =>
  list.map(({ permission, pattern, action }) => `${permission} ${pattern} ${action}`).join(", ");

function decide(list: readonly PermissionRule[], permission: string, text: string): PermissionRule["action"] {
  return (
    list.findLast((rule) => matches(permission, rule.permission) && matches(text, rule.pattern))?.action ??
    "ask"
  );
}

const STRICTNESS = ["deny", "ask", "allow"];

describe("the rules that a limit adds", () => {
  it.each([
    {
      name: "none, where the limit allows all",
      granted: "* * allow, bash rm * deny",
      limit: "* * allow",
      added: "",
    },
    {
      name: "none, where both are the same",
      granted: "* * allow, edit * deny, edit docs/* allow",
      limit: "* * allow, edit * deny, edit docs/* allow",
      added: "",
    },
    {
      name: "what only the limit denies",
      granted: "* * allow",
      limit: "* * allow, edit * deny",
      added: "* * allow, edit * deny",
    },
    {
      name: "an exception of the limit",
      granted: "* * allow",
      limit: "* * allow, edit * deny, edit docs/* allow",
      added: "* * allow, edit * deny, edit docs/* allow",
    },
    {
      name: "no exception that was not granted",
      granted: "* * allow, edit * deny",
      limit: "* * allow, edit * deny, edit docs/* allow",
      added: "",
    },
    {
      name: "an ask never lifts a deny",
      granted: "* * allow, bash * deny",
      limit: "* * allow, bash * ask",
      added: "",
    },
  ])("$name", ({ granted, limit, added }) => {
    expect(write(limitRules(rules(granted), rules(limit)))).toBe(added);
  });

  it("never allow what either side does not", () => {
    const list = fc.array(
      fc.record({
        permission: fc.constantFrom("*", "edit", "bash", "ed*", "?ash"),
        pattern: fc.constantFrom(
          "*",
          "**",
          "git *",
          "git push *",
          "*.env",
          "docs/*",
          "docs/a.env",
          "g?t *",
          "git",
        ),
        action: fc.constantFrom<PermissionRule["action"]>("allow", "ask", "deny"),
      }),
      { maxLength: 6 },
    );
    const permission = fc.constantFrom("edit", "bash", "editor", "read");
    const text = fc.constantFrom(
      "git",
      "git push x",
      "git a.env",
      "docs/a",
      "docs/a.env",
      "x.env",
      "got it",
      "zz",
    );
    fc.assert(
      fc.property(list, list, permission, text, (granted, limit, permission, text) => {
        const added = limitRules(granted, limit);
        const level = (of: readonly PermissionRule[]) => STRICTNESS.indexOf(decide(of, permission, text));
        const both = Math.min(level(granted), level(limit));
        expect(level([...granted, ...added])).toBeLessThanOrEqual(both);
      }),
      { numRuns: runs(20_000) },
    );
  });
});
