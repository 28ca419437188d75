import {
  either,
  listOf,
  methods,
  numberFrom,
  objectOf,
  oneOf,
  type Rule,
  required,
  rule,
  type Shape,
  text,
} from "../../text/check.ts";
import { REDACT_SHAPE } from "../../text/secrets/redact-secrets.ts";
import { isObject } from "../../text/unknown-value.ts";
import { MODEL_RULE } from "../../transcript/message.ts";
import type { Clock, Summarizer } from "./summarizer.ts";

/** What must stay visible to the model: each a text, or a handle of the transcript. */
export const PINS_RULE: Rule = listOf({
  expects: "{ text } or { handle }",
  find(value, path) {
    const problems = objectOf({ text, handle: text }).find(value, path);
    const isEither = rule("{ text } or { handle }", (pin) => isObject(pin) && Object.keys(pin).length > 0);
    return problems.length > 0 ? problems : isEither.find(value, path);
  },
});

/** How secrets are found; `off` leaves them in the texts. */
export const REDACTION_RULE: Rule = either(oneOf("off"), objectOf(REDACT_SHAPE));

/** The model that writes summaries, its limits, and what it is told. */
export const SUMMARIZER_RULE: Rule = objectOf({
  model: MODEL_RULE,
  windowTokens: numberFrom(0),
  outputTokens: numberFrom(0),
  system: text,
  instructions: text,
});

/** Hooks around a compaction, in order. */
export const HOOKS_RULE: Rule = listOf(
  rule("{ name, compacting, autocontinue }, a name and at least one function", isHook),
);

// What a hook remembers may be in it too.
function isHook(hook: unknown): boolean {
  if (!isObject(hook) || typeof hook.name !== "string") return false;
  const asked = [hook.compacting, hook.autocontinue].filter((each) => each !== undefined);
  return asked.length > 0 && asked.every((each) => typeof each === "function");
}

/** The ports of a compaction. */
export const COMPACT_PORTS_SHAPE: Shape<{ readonly clock: Clock; readonly summarizer: Summarizer }> = {
  clock: required(
    rule(
      "an object with the functions now and sleep, such as createSystemClock() gives",
      (value) => methods("now", "sleep").find(value, []).length === 0,
    ),
  ),
  summarizer: rule(
    "an object with the function summarize, and in byProvider keptFrom and compact or nothing",
    isSummarizer,
  ),
};

// What else a summarizer remembers may be in it too.
function isSummarizer(value: unknown): boolean {
  if (!isObject(value) || typeof value.summarize !== "function") return false;
  const { byProvider } = value;
  if (byProvider === undefined) return true;
  if (!isObject(byProvider) || typeof byProvider.compact !== "function") return false;
  return byProvider.keptFrom === "any" || byProvider.keptFrom === "user";
}
