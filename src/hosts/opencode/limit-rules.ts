import { matches } from "../../agents/opencode/rule-pattern.ts";

/** A rule of OpenCode. Of all that fit a permission and what it is about, the last decides; where none fits, a person is asked. */
export interface PermissionRule {
  readonly permission: string;
  readonly pattern: string;
  readonly action: PermissionAction;
}

type PermissionAction = "allow" | "ask" | "deny";

/**
 * The rules to add behind `granted` so that nothing is allowed any more that `limit` does not allow, and nothing that
 * `granted` did not allow. Where two patterns meet in a way that no pattern can say, more is denied than needed.
 */
export function limitRules(
  granted: readonly PermissionRule[],
  limit: readonly PermissionRule[],
): readonly PermissionRule[] {
  const found: PermissionRule[] = [];
  for (const outer of [UNKNOWN, ...limit]) {
    if (outer.action === "deny") found.push(outer);
    else for (const inner of [UNKNOWN, ...granted]) found.push(...bothOf(outer, inner));
  }
  const rules = found.filter((rule, index) => !found.slice(index + 1).some((later) => covers(later, rule)));
  const isNeeded = rules.some((rule, index) => !isKept(granted, rule, rules.slice(index + 1)));
  return isNeeded ? rules : [];
}

const UNKNOWN: PermissionRule = { permission: "*", pattern: "*", action: "ask" };

const STRICTNESS: Readonly<Record<PermissionAction, number>> = { deny: 0, ask: 1, allow: 2 };

/** Where both rules fit: the stricter of their actions. */
function bothOf(outer: PermissionRule, inner: PermissionRule): readonly PermissionRule[] {
  const permission = overlap(outer.permission, inner.permission);
  const pattern = overlap(outer.pattern, inner.pattern);
  if (permission === "none" || pattern === "none") return [];
  const action = STRICTNESS[inner.action] < STRICTNESS[outer.action] ? inner.action : outer.action;
  if (permission !== "some" && pattern !== "some")
    return [{ permission: permission.text, pattern: pattern.text, action }];
  if (action === "allow") return [];
  const stricter = inner.action === action ? inner : outer;
  return [{ ...stricter, action: "deny" }];
}

/** Whether `granted` already keeps a rule wherever no later rule decides. */
function isKept(
  granted: readonly PermissionRule[],
  rule: PermissionRule,
  later: readonly PermissionRule[],
): boolean {
  for (const known of [UNKNOWN, ...granted].toReversed()) {
    const meet = bothOf({ ...rule, action: "allow" }, { ...known, action: "allow" });
    const isElsewhere =
      overlap(rule.permission, known.permission) === "none" ||
      overlap(rule.pattern, known.pattern) === "none";
    const isDecidedLater = meet.length > 0 && meet.every((each) => later.some((next) => covers(next, each)));
    if (isElsewhere || isDecidedLater) continue;
    if (STRICTNESS[known.action] > STRICTNESS[rule.action]) return false;
    if (covers(known, rule)) return true;
  }
  return true;
}

/** True where the first rule fits everything that the second fits. */
function covers(wide: PermissionRule, narrow: PermissionRule): boolean {
  return contains(wide.permission, narrow.permission) && contains(wide.pattern, narrow.pattern);
}

/** What two patterns have in common: nothing, the whole of one of them, or something that is no pattern. */
function overlap(a: string, b: string): "none" | "some" | { readonly text: string } {
  if (contains(a, b)) return { text: b };
  if (contains(b, a)) return { text: a };
  return isApart(a, b) ? "none" : "some";
}

/** True only if every text that fits `b` fits `a`. */
function contains(a: string, b: string): boolean {
  if (a === b || a === "*" || a === "**") return true;
  if (!WILD.test(a)) return false;
  // A question mark stands for one sign, and a star in `b` for many.
  if (a.includes("?")) return false;
  return matches(b, a) && (!b.endsWith(" *") || matches(b.slice(0, -2), a));
}

/** True only if no text fits both. */
function isApart(a: string, b: string): boolean {
  if (!WILD.test(a)) return !matches(a, b);
  if (!WILD.test(b)) return !matches(b, a);
  const [startA, startB] = [fixedStart(a), fixedStart(b)];
  const [endA, endB] = [fixedEnd(a), fixedEnd(b)];
  const isStartShared = startA.startsWith(startB) || startB.startsWith(startA);
  const isEndShared = endA.endsWith(endB) || endB.endsWith(endA);
  return !isStartShared || !isEndShared;
}

const WILD = /[*?]/;

/** The last blank and star of a command may be missing. */
function fixedStart(pattern: string): string {
  return pattern.replace(/ \*$/, "*").replace(/[*?].*$/s, "");
}

function fixedEnd(pattern: string): string {
  return pattern.replace(/^.*[*?]/s, "");
}

export function rulesIn(value: unknown): readonly PermissionRule[] {
  return Array.isArray(value) ? (value as readonly PermissionRule[]) : [];
}
