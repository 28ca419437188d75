import { isFields } from "../text/is-fields.ts";
import type { SessionOptions } from "./session-options.ts";

/** What is wrong with options as they were given, one sentence a problem; what has a reader of its own is left to that. */
export function sessionOptionsProblems(options: SessionOptions): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const must = Object.hasOwn(RULES, name) ? RULES[name as keyof SessionOptions] : undefined;
    if (must === undefined)
      return [`${name} is not an option of a session; known are ${Object.keys(RULES).join(", ")}`];
    return value === undefined || must.allows(value) ? [] : [`${name} is ${show(value)}; give ${must.be}`];
  });
}

interface Rule {
  readonly be: string;
  readonly allows: (value: unknown) => boolean;
}

const oneOf = (...words: readonly string[]): Rule => ({
  be: words.map((word) => `"${word}"`).join(" or "),
  allows: (value) => words.some((word) => word === value),
});
const numberFrom = (least: number): Rule => ({
  be: `a finite number of ${least} or more`,
  allows: (value) => isNumberFrom(value, least),
});
const ANYTHING: Rule = { be: "anything", allows: () => true };
const TEXT: Rule = { be: "a text", allows: (value) => typeof value === "string" };

/** Less could not hold the notice that says how much is missing. */
const MIN_RECALL_CHARS = 512;

const RULES: Readonly<Record<keyof SessionOptions, Rule>> = {
  sessionId: TEXT,
  model: {
    be: "{ provider, id }",
    allows: (value) => isFields(value) && typeof value.provider === "string" && typeof value.id === "string",
  },
  limits: {
    be: "{ contextTokens, outputTokens } in numbers, 0 for what nobody knows",
    allows: (value) => isFields(value) && isNumber(value.contextTokens),
  },
  compaction: ANYTHING,
  overflow: {
    be: '{ auto, outputCapTokens of 1 or more, reservedTokens of 0 or more, profile "seed" or "opencode-2026-02" }',
    allows: (value) =>
      hasOnly(value, {
        auto: (auto) => typeof auto === "boolean",
        outputCapTokens: (tokens) => isNumberFrom(tokens, 1),
        reservedTokens: (tokens) => isNumberFrom(tokens, 0),
        profile: (profile) => profile === "seed" || profile === "opencode-2026-02",
      }),
  },
  representation: oneOf("pivot", "user-summary"),
  summarizer: {
    be: "{ model, windowTokens, outputTokens } with numbers of 0 or more",
    allows: (value) =>
      hasOnly(value, {
        model: isFields,
        windowTokens: (tokens) => isNumberFrom(tokens, 0),
        outputTokens: (tokens) => isNumberFrom(tokens, 0),
      }),
  },
  pins: {
    be: "a list of { text } and { handle }",
    allows: (value) => Array.isArray(value) && value.every(isPin),
  },
  autoContinue: oneOf("as-needed", "never"),
  prune: ANYTHING,
  cache: {
    be: "a profile with readMultiplier, writeMultiplier, ttlMs, minimumTokens of 0 or more and stepTokens of 1 or more",
    allows: (value) =>
      isFields(value) &&
      [value.readMultiplier, value.writeMultiplier, value.minimumTokens].every((number) =>
        isNumberFrom(number, 0),
      ) &&
      // Infinity is a cache that never ends.
      isNumber(value.ttlMs) &&
      value.ttlMs >= 0 &&
      isNumberFrom(value.stepTokens, 1),
  },
  expectedTurns: numberFrom(1),
  toolOutput: ANYTHING,
  estimator: {
    be: '"documented", "calibrated" or a function from a text to a number',
    allows: (value) => value === "documented" || value === "calibrated" || typeof value === "function",
  },
  systemChars: numberFrom(0),
  toolsChars: numberFrom(0),
  redaction: { be: '"off" or { key, extraRules }', allows: (value) => value === "off" || isFields(value) },
  redactOutputs: oneOf("on", "off"),
  recallMaxChars: {
    be: `a number of ${MIN_RECALL_CHARS} or more`,
    allows: (value) => isNumber(value) && value >= MIN_RECALL_CHARS,
  },
  onEvent: { be: "a function", allows: (value) => typeof value === "function" },
};

function isPin(value: unknown): boolean {
  return isFields(value) && (typeof value.text === "string" || typeof value.handle === "string");
}

function hasOnly(value: unknown, checks: Readonly<Record<string, (value: unknown) => boolean>>): boolean {
  if (!isFields(value)) return false;
  return Object.entries(value).every(
    ([key, field]) => Object.hasOwn(checks, key) && (field === undefined || checks[key]?.(field) === true),
  );
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}

function isNumberFrom(value: unknown, least: number): boolean {
  return isNumber(value) && Number.isFinite(value) && value >= least;
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 40));
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? "a list that does not fit" : "an object that does not fit";
}
