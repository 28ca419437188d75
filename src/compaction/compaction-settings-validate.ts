import { isFields } from "../text/is-fields.ts";
import {
  type CompactionSettings,
  DEFAULT_COMPACTION_SETTINGS,
  type Threshold,
  TOOL_SUMMARY_STRATEGIES,
} from "./compaction-settings.ts";

/** Settings completed with the defaults, or every problem at once; an unknown key is a problem. */
export function validateCompactionSettings(raw: unknown): ValidatedSettings {
  if (raw === undefined) return { status: "valid", settings: DEFAULT_COMPACTION_SETTINGS };
  if (!isFields(raw)) return { status: "invalid", problems: [problem("", "settings must be an object")] };

  const problems: SettingsProblem[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(CHECKS, key) ? CHECKS[key as keyof CompactionSettings] : undefined;
    if (check === undefined) problems.push(problem(key, `unknown setting; known are ${KEYS.join(", ")}`));
    else problems.push(...check(key, value));
  }
  if (problems.length > 0) return { status: "invalid", problems };
  const given = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined));
  return { status: "valid", settings: { ...DEFAULT_COMPACTION_SETTINGS, ...given } };
}

export type ValidatedSettings =
  | { readonly status: "valid"; readonly settings: CompactionSettings }
  | { readonly status: "invalid"; readonly problems: readonly SettingsProblem[] };

/** What is wrong with one setting; `path` is empty when the whole value is wrong. */
export interface SettingsProblem {
  readonly path: string;
  readonly problem: string;
}

type Check = (path: string, value: unknown) => readonly SettingsProblem[];

const CHECKS: Readonly<Record<keyof CompactionSettings, Check>> = {
  maxMessages: wholeNumber,
  maxTokens: wholeNumber,
  keepRecent: wholeNumber,
  keepRecentTokens: wholeNumber,
  reserveTokens: wholeNumber,
  toolCallCutoff: wholeNumber,
  toolSummaryStrategy: strategy,
  autoCompact: (path, value) => (typeof value === "boolean" ? [] : [problem(path, "must be true or false")]),
  thresholds: thresholds,
};

const KEYS: readonly string[] = Object.keys(CHECKS);

function wholeNumber(path: string, value: unknown): readonly SettingsProblem[] {
  return Number.isSafeInteger(value) && (value as number) >= 0
    ? []
    : [problem(path, `must be a whole number of 0 or more, not ${show(value)}`)];
}

function strategy(path: string, value: unknown): readonly SettingsProblem[] {
  return TOOL_SUMMARY_STRATEGIES.some((known) => known === value)
    ? []
    : [problem(path, `must be one of ${TOOL_SUMMARY_STRATEGIES.join(", ")}, not ${show(value)}`)];
}

function thresholds(path: string, value: unknown): readonly SettingsProblem[] {
  if (!isFields(value)) return [problem(path, "must be an object of thresholds by provider/model")];
  return Object.entries(value).flatMap(([key, each]) => thresholdProblems(`${path}.${key}`, key, each));
}

function thresholdProblems(path: string, key: string, value: unknown): readonly SettingsProblem[] {
  const named = /^[^/\s]+\/\S+$/.test(key) ? [] : [problem(path, "must be named provider/model")];
  if (!isThreshold(value)) {
    return [...named, problem(path, "must be { tokens } above 0 or { percent } above 0 and up to 100")];
  }
  return named;
}

function isThreshold(value: unknown): value is Threshold {
  if (!isFields(value) || Object.keys(value).length !== 1) return false;
  const { tokens, percent } = value;
  if (tokens !== undefined) return Number.isSafeInteger(tokens) && (tokens as number) > 0;
  return typeof percent === "number" && percent > 0 && percent <= 100;
}

function problem(path: string, text: string): SettingsProblem {
  return { path, problem: text };
}

function show(value: unknown): string {
  if (typeof value === "string") return `"${value.slice(0, 40)}"`;
  return typeof value === "object" ? "an object" : String(value);
}
