import type { ForkProfile } from "../../fork/context/options.ts";
import { FORK_LIMIT_SHAPE, type ForkLimitOptions } from "../../fork/life/limits.ts";
import { MODEL_CELLS_RULE, type ModelCells } from "../../models/model-row.ts";
import {
  check,
  defaultsOf,
  either,
  flag,
  gone,
  listOf,
  numberAbove,
  objectOf,
  oneOf,
  type Rule,
  type Rules,
  recordOf,
  renamedWords,
  rule,
  type Shape,
  text,
  wholeFrom,
  withDefault,
} from "../../text/check.ts";
import { asObject, omitUndefined } from "../../text/unknown-value.ts";
import { OUTPUT_LIMIT_SHAPE, type ToolOutputLimits } from "../../tool-output/limits.ts";
import { isDatabase } from "../stores/plugin-stores.ts";

/** The options of the plugin with every default filled in, or everything that is wrong with them; then the defaults. */
export function readPluginOptions(given: unknown = {}): ReadOptions {
  const problems = check(shapeOf(given), given);
  const { fork, ...rest } = problems.length > 0 ? {} : asObject(given);
  const known = { ...defaultsOf(PLUGIN_SHAPE), ...omitUndefined(rest) };
  const options = {
    ...known,
    fork: { ...known.fork, profile: known.profile, ...omitUndefined(asObject(fork)) },
  };
  return { options, problems: problems.map((problem) => problem.text) };
}

interface ReadOptions {
  readonly options: PluginOptions;
  readonly problems: readonly string[];
}

/** What a person may change about the plugin. */
export interface PluginOptions {
  /**
   * `documented`: forks inherit text cut by fixed limits, and nothing else of the agent is touched but its request
   * for a summary, which gets the rule about secrets.
   * @default default
   * @when nothing but the documents' fork shall happen
   */
  readonly profile: "default" | "documented";
  /** How forks inherit, and what they may use. @default each its own @when forks cost too much, or wait too long */
  readonly fork: PluginForkOptions;
  /**
   * Limits (`maxLines`, `maxBytes`, `maxChars`) of one tool output over the defaults, or false to leave outputs
   * alone. Up to a third over a limit stays whole; only limits above the defaults show more than the agent does.
   * @default `DEFAULT_TOOL_OUTPUT_LIMITS`
   * @from document 004
   * @when outputs shall be left alone (`false`), or other limits fit
   */
  readonly toolOutput: false | Partial<ToolOutputLimits>;
  /**
   * Old outputs leave the window by line, in batches: when the agent would compact next (`when-full`), or whenever
   * that pays for the lost cache too (`auto`).
   * @default when-full
   * @from document 003
   * @when long sessions shall be cheaper (`auto`), or nothing may leave without a summary (`off`)
   */
  readonly prune: "off" | "when-full" | "auto";
  /**
   * Who sums up a full window. The agent, which is told of running forks and pins (`host`), also of facts
   * (`host-with-facts`), or of nothing (`off`); but for `off`, pins that its summary lacks are restored. Or Carryover,
   * where the agent takes a summary from a plugin (OpenCode 2): `local` without a model, `model` by asking the
   * session's model.
   * @default host
   * @from document 003
   * @when summaries of the host lose pins and facts (`host-with-facts`), or are slow or dear (`local`, in OpenCode 2)
   */
  readonly compaction: "host" | "host-with-facts" | "off" | "local" | "model";
  /**
   * Globs of instruction files, or texts, that survive every edit.
   * @default none
   * @when instructions must survive every compaction
   */
  readonly pin: readonly string[];
  /** Thresholds and facts by "provider/model". @default none @when one model shall be treated differently */
  readonly models: Readonly<Record<string, ModelOptions>>;
  /**
   * The folder in which everything is kept, or `postgres://…` for a database that a fleet shares.
   * @default the state folder of the user
   * @when several machines share forks (`postgres://…`), or the disk is elsewhere
   */
  readonly store?: string;
  /** Regular expressions of further secrets. @default none @when you have secrets of your own form */
  readonly redact: readonly string[];
  /** The least important level that is logged. @default info @when you look for a fault */
  readonly log: "debug" | "info" | "warn" | "error" | "off";
}

/** How forks inherit, and what they may use. */
interface PluginForkOptions extends ForkLimitOptions {
  /**
   * `documented`: forks inherit text cut by fixed limits, and the rest of the plugin is as it is; the plugin's when
   * unset.
   * @default default
   * @from documents 000 to 002
   * @when forks alone shall follow the documents
   */
  readonly profile: ForkProfile;
  /**
   * The parent's last request unchanged, its messages after the pipeline, one text, or what is cheapest.
   * @default auto
   * @when you know better than the prices of the cache
   */
  readonly inherit: "auto" | "full" | "trimmed" | "text";
  /**
   * Characters that a child may inherit through the pipeline.
   * @default 200,000
   * @from documents 000 to 002
   * @when children get too much or too little
   */
  readonly budgetChars?: number;
  /**
   * Whether a fork that could not inherit anything starts all the same.
   * @default continue
   * @when a child without its parent's context is worse than none
   */
  readonly onForkError: "continue" | "fail";
  /**
   * Whether a child may run at another provider; secrets are redacted then.
   * @default false
   * @when children may run elsewhere; secrets are taken out then
   */
  readonly allowCrossProvider: boolean;
}

/** What is set for one model. Thresholds are in tokens, or a share of the window such as "80%". */
export interface ModelOptions {
  /**
   * How full the window is before anything is pruned.
   * @default `when-full`: nine tenths of where the agent compacts; `auto`: by size and prices
   * @when pruning shall begin at another size
   */
  readonly pruneAt?: number | string;
  /**
   * How much of the newest outputs stays whole.
   * @default the newest 10, however long
   * @from document 003
   * @when more or less of the newest outputs has to stay whole
   */
  readonly keepTokens?: number | string;
  /**
   * Its window, prices and cache, before what the agent and the built-in table say.
   * @default what the agent says, else what is built in
   * @unit the cells of a row
   * @when your window or prices differ
   */
  readonly facts?: ModelCells;
}

/** The options of `fork`. */
export const PLUGIN_FORK_SHAPE: Shape<PluginForkOptions, Exclude<keyof PluginForkOptions, "budgetChars">> = {
  ...FORK_LIMIT_SHAPE,
  profile: withDefault(oneOf("default", "documented"), "default"),
  ...gone({ way: 'give inherit: "full" in place of exact, "trimmed" of graduated, or "text"' }),
  inherit: withDefault(oneOf("auto", "full", "trimmed", "text"), "auto"),
  budgetChars: wholeFrom(1_000),
  onForkError: withDefault(oneOf("continue", "fail"), "continue"),
  allowCrossProvider: withDefault(flag, false),
};

/** The documented fork is a text. */
const DOCUMENTED_FORK: Rules = { ...PLUGIN_FORK_SHAPE, inherit: oneOf("auto", "text") };

const THRESHOLD: Rule = either(
  numberAbove(0),
  rule('a share of the window such as "80%"', (value) => /^\d{1,2}(\.\d+)?%$|^100%$/.test(String(value))),
);

const MODEL: Shape<ModelOptions> = {
  ...gone({
    keepRecent: "give keepTokens",
    inheritAtMost: "leave it out: a child inherits at most half of its window unchanged",
  }),
  pruneAt: THRESHOLD,
  keepTokens: THRESHOLD,
  facts: MODEL_CELLS_RULE,
};

/** Its problem does not show the value, which may hold a password. */
const STORE: Rule = {
  expects: "a folder, or postgres://user:password@host/database",
  find(value, path) {
    const isStore =
      typeof value === "string" && value !== "" && (isDatabase(value) || !URL_START.test(value));
    return isStore ? [] : [{ path, text: `${path.join(".")} cannot be used; give ${STORE.expects}` }];
  },
};

const URL_START = /^[\w+.-]+:\/\//;

/** The options of the plugin. */
export const PLUGIN_SHAPE: Shape<PluginOptions, Exclude<keyof PluginOptions, "store">> = {
  ...gone({ recallRedaction: "leave it out: a recall gives back what the model has seen" }),
  profile: withDefault(oneOf("default", "documented"), "default"),
  fork: withDefault(objectOf(PLUGIN_FORK_SHAPE), defaultsOf(PLUGIN_FORK_SHAPE)),
  toolOutput: withDefault(
    either(
      rule("false", (value) => value === false),
      objectOf(OUTPUT_LIMIT_SHAPE),
    ),
    {},
  ),
  prune: withDefault(oneOf("off", "when-full", "auto"), "when-full"),
  compaction: withDefault(
    renamedWords(oneOf("host", "host-with-facts", "off", "local", "model"), {
      roster: "host",
      assist: "host-with-facts",
      own: "local",
      "own-model": "model",
    }),
    "host",
  ),
  pin: withDefault(listOf(text), []),
  models: withDefault(recordOf({ expects: '"provider/model"', pattern: /^[^/]+\/.+$/ }, objectOf(MODEL)), {}),
  store: STORE,
  redact: withDefault(listOf(rule("a regular expression", isPattern)), []),
  log: withDefault(oneOf("debug", "info", "warn", "error", "off"), "info"),
};

/** What the options may be where forks have the profile that they name. */
function shapeOf(given: unknown): Rules {
  const { profile, fork } = asObject(given);
  const isDocumented = (asObject(fork).profile ?? profile) === "documented";
  return isDocumented ? { ...PLUGIN_SHAPE, fork: objectOf(DOCUMENTED_FORK) } : PLUGIN_SHAPE;
}

function isPattern(source: unknown): boolean {
  try {
    return typeof source === "string" && source !== "" && new RegExp(source, "g").source !== "";
  } catch {
    return false;
  }
}
