import { z } from "zod";
import { resolveToolOutputLimits } from "../../tool-output/limits.ts";
import { isDatabase } from "../stores/plugin-stores.ts";

/** The options of the plugin with every default filled in, and all that was wrong with those given; a wrong one counts as unset. */
export function readPluginOptions(raw: unknown): ReadOptions {
  const problems: string[] = [];
  let given: unknown = raw ?? {};
  for (;;) {
    const parsed = OPTIONS.safeParse(given);
    if (parsed.success) return { options: parsed.data, problems };
    const [issue] = parsed.error.issues;
    if (issue === undefined) return { options: OPTIONS.parse({}), problems };
    const path = issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0] ?? ""] : issue.path;
    problems.push(path.length === 0 ? issue.message : `${path.join(".")}: ${explain(issue)}`);
    given = path.length === 0 ? {} : without(given, path);
  }
}

interface ReadOptions {
  readonly options: PluginOptions;
  readonly problems: readonly string[];
}

/** What a person may change about the plugin. */
export interface PluginOptions {
  /** `documented` is exactly the founding documents: a text fork with fixed limits, nothing else touched. */
  readonly profile: "default" | "documented";
  readonly fork: PluginForkOptions;
  /** Limits of one tool output as `resolveToolOutputLimits` takes them, or false to leave outputs alone. */
  readonly toolOutput: false | Readonly<Record<string, unknown>>;
  readonly prune: "off" | "auto";
  readonly compaction: "roster" | "assist" | "off";
  /** Globs of instruction files, or texts, that survive every edit. */
  readonly pin: readonly string[];
  /** Thresholds by "provider/model". */
  readonly models: Readonly<Record<string, ModelThresholds>>;
  /** The folder in which everything is kept, or `postgres://…` for a database that a fleet shares. */
  readonly store?: string | undefined;
  /** Regular expressions of further secrets. */
  readonly redact: readonly string[];
  readonly log: "debug" | "info" | "warn" | "error" | "off";
}

interface PluginForkOptions {
  readonly way: "auto" | "exact" | "graduated" | "text";
  readonly budgetChars?: number | undefined;
  readonly maxRunning: number;
  readonly maxQueued: number;
  readonly maxPerRoot: number;
  readonly timeoutMin: number;
  readonly graceS: number;
  readonly maxToolCalls: number;
  readonly repeatLimit: number;
  readonly forkUSD: number;
  readonly rootUSD: number;
  readonly onParentAbort: "keep" | "cancel";
  readonly onRestart: "report" | "resume";
  readonly onForkError: "continue" | "fail";
  readonly askTimeoutS: number;
  readonly allowCrossProvider: boolean;
}

/** Each in tokens, or as a share of the window such as "80%". */
export interface ModelThresholds {
  readonly pruneAt?: number | string | undefined;
  readonly keepRecent?: number | string | undefined;
  readonly inheritAtMost?: number | string | undefined;
}

const amount = (fallback: number): z.ZodType<number> => z.number().positive().default(fallback);

const FORK: z.ZodType<PluginForkOptions> = z.strictObject({
  way: z.enum(["auto", "exact", "graduated", "text"]).default("auto"),
  budgetChars: z.number().int().min(1_000).optional(),
  maxRunning: z.number().int().min(1).default(4),
  maxQueued: z.number().int().min(0).default(16),
  maxPerRoot: z.number().int().min(1).default(40),
  timeoutMin: amount(20),
  graceS: amount(90),
  maxToolCalls: z.number().int().min(1).default(200),
  repeatLimit: z.number().int().min(2).default(5),
  forkUSD: amount(2),
  rootUSD: amount(10),
  onParentAbort: z.enum(["keep", "cancel"]).default("keep"),
  onRestart: z.enum(["report", "resume"]).default("report"),
  onForkError: z.enum(["continue", "fail"]).default("continue"),
  askTimeoutS: amount(300),
  allowCrossProvider: z.boolean().default(false),
});

const THRESHOLD = z.union([z.number().positive(), z.string().regex(/^\d{1,2}(\.\d+)?%$|^100%$/)]);

const MODEL: z.ZodType<ModelThresholds> = z.strictObject({
  pruneAt: THRESHOLD.optional(),
  keepRecent: THRESHOLD.optional(),
  inheritAtMost: THRESHOLD.optional(),
});

const OPTIONS: z.ZodType<PluginOptions> = z.strictObject({
  profile: z.enum(["default", "documented"]).default("default"),
  fork: z.prefault(FORK, {}),
  toolOutput: z
    .union([z.literal(false), z.record(z.string(), z.unknown()).superRefine(checkLimits)])
    .default({}),
  prune: z.enum(["off", "auto"]).default("off"),
  compaction: z.enum(["roster", "assist", "off"]).default("roster"),
  pin: z.array(z.string().min(1)).default([]),
  models: z.record(z.string().regex(/^[^/]+\/.+$/, 'must be "provider/model"'), MODEL).default({}),
  store: z
    .string()
    .min(1)
    .refine(isStore, "must be a folder, or postgres://user:password@host/database")
    .optional(),
  redact: z.array(z.string().min(1).refine(isPattern, "must be a regular expression")).default([]),
  log: z.enum(["debug", "info", "warn", "error", "off"]).default("info"),
});

function checkLimits(limits: unknown, context: z.core.$RefinementCtx): void {
  try {
    resolveToolOutputLimits(limits);
  } catch (cause) {
    context.addIssue({ code: "custom", message: cause instanceof Error ? cause.message : String(cause) });
  }
}

function isStore(store: string): boolean {
  return isDatabase(store) || !/^[\w+.-]+:\/\//.test(store);
}

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, "g").source !== "";
  } catch {
    return false;
  }
}

function explain(issue: z.core.$ZodIssue): string {
  return issue.code === "unrecognized_keys" ? "there is no such option" : issue.message;
}

/** A copy without the value at the path, so that its default counts. */
function without(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  if (Array.isArray(value)) {
    const index = Number(key);
    return rest.length === 0
      ? value.filter((_, at) => at !== index)
      : value.map((item, at) => (at === index ? without(item, rest) : item));
  }
  const copy: Record<PropertyKey, unknown> = { ...(value as Record<PropertyKey, unknown>) };
  if (key === undefined) return copy;
  if (rest.length === 0 || typeof copy[key] !== "object" || copy[key] === null) delete copy[key];
  else copy[key] = without(copy[key], rest);
  return copy;
}
