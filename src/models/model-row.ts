import {
  check,
  flag,
  listOf,
  numberAbove,
  numberFrom,
  objectOf,
  oneOf,
  type Rule,
  recordOf,
  required,
  rule,
  type Shape,
  text,
  throwProblems,
} from "../text/check.ts";
import { isObject } from "../text/unknown-value.ts";

/**
 * What is known of one model, or of several that do not differ. A cell that is not known is left out. Rows of a user
 * have the same form: what they name counts before what is built in, what they leave out stays.
 */
export interface ModelRow extends ModelCells {
  /** Plain names such as "claude-opus-5-5". A dot counts as a dash, and what providers and gateways add does not count. */
  readonly names: readonly string[];
}

/** The cells of a row. */
export interface ModelCells {
  /** Models that are named after each other: "claude", "gpt", "gemini", … */
  readonly family?: string;
  readonly contextTokens?: number;
  /** The most input, where that has a limit of its own. */
  readonly inputTokens?: number;
  /** The most output. */
  readonly outputTokens?: number;
  /** US dollars for a million tokens, list prices of direct access. With several rows the newest that is in force counts. */
  readonly prices?: readonly DatedPrices[];
  /** For prompts longer than this, cached tokens included, the whole request costs more by these factors. */
  readonly longPrompts?: LongPrompts;
  readonly cache?: CacheFacts | "none";
  /** Thinking cannot be switched off. */
  readonly alwaysThinks?: boolean;
  readonly afterEdit?: AfterEdit;
  /**
   * The provider can compact on demand, into a signed block that stands for exactly these messages. Bedrock cannot.
   */
  readonly compaction?: "on-demand";
  readonly resend?: Resend;
  /** The family of its tokenizer. */
  readonly tokenizer?: string;
  /** False where the tokenizer was taken over from another model. */
  readonly tokenizerMeasured?: boolean;
  /** Who says so. */
  readonly source?: string;
  /** The day on which that was read, such as "2026-11-17". */
  readonly readOn?: string;
  /** Remarks on cells, for example that sources disagree. */
  readonly remarks?: Readonly<Record<string, string>>;
}

/**
 * What happens to a thought when an earlier message is edited: the provider refuses the request, drops the thought
 * silently, or keeps it.
 */
export type AfterEdit = "refused" | "dropped" | "kept";

/**
 * Which thoughts must be sent again: those of all turns with tool calls, those of the running turn, none (`advised`:
 * answers get worse without them), or none at all.
 */
export type Resend = "tool-turns" | "running-turn" | "advised" | "optional";

/** Prices in US dollars for a million tokens. */
export interface DatedPrices {
  /** The first day of these prices; unset for those before all others. */
  readonly from?: string;
  /** Uncached input. */
  readonly input: number;
  /** Written by the model, its thinking included. */
  readonly output: number;
  /** Read from the cache. */
  readonly cacheRead: number;
  /** Written to the cache, by lifetime. The price of input when unset. */
  readonly cacheWrite?: Readonly<Record<string, number>>;
}

/** How the price of a request grows with its prompt. */
export interface LongPrompts {
  readonly fromTokens: number;
  /** On input, and on what is read from or written to the cache. */
  readonly inputFactor: number;
  readonly outputFactor: number;
}

/** The cache of a provider for prompts. Factors are multiples of the price of input, for models without known prices. */
export interface CacheFacts {
  /** How long a prompt is kept, such as "5m" or "1h"; what is asked for without further words first. */
  readonly lives?: readonly string[];
  readonly readFactor?: number;
  /** By lifetime. 1 when unset. */
  readonly writeFactor?: Readonly<Record<string, number>>;
  /** A shorter prompt is not cached. */
  readonly leastTokens?: number;
  /** Only whole steps are reused. */
  readonly stepTokens?: number;
}

/** A time such as "5m" or "1h" in milliseconds. */
export function lifeMs(life: string): number {
  return Number.parseInt(life, 10) * (life.endsWith("h") ? 3_600_000 : 60_000);
}

const LIFE = { expects: 'times such as "5m" or "1h"', pattern: /^[1-9]\d{0,4}[mh]$/ };
const life = rule(
  'a time such as "5m" or "1h"',
  (value) => typeof value === "string" && LIFE.pattern.test(value),
);
const day = rule(
  'a day such as "2026-11-17"',
  (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
);

const PRICES_SHAPE: Shape<DatedPrices> = {
  from: day,
  input: required(numberFrom(0)),
  output: required(numberFrom(0)),
  cacheRead: required(numberFrom(0)),
  cacheWrite: recordOf(LIFE, numberFrom(0)),
};

const LONG_PROMPTS_SHAPE: Shape<LongPrompts> = {
  fromTokens: required(numberFrom(1)),
  inputFactor: required(numberFrom(0)),
  outputFactor: required(numberFrom(0)),
};

const CACHE_SHAPE: Shape<CacheFacts> = {
  lives: listOf(life),
  readFactor: numberFrom(0),
  writeFactor: recordOf(LIFE, numberFrom(0)),
  leastTokens: numberFrom(0),
  stepTokens: numberFrom(1),
};

const cacheRule: Rule = {
  expects: 'an object, or "none"',
  find: (value, path) =>
    value === "none"
      ? []
      : isObject(value)
        ? check(CACHE_SHAPE, value, path)
        : oneOf("none").find(value, path),
};

const CELLS_SHAPE: Shape<ModelCells> = {
  family: text,
  contextTokens: numberAbove(0),
  inputTokens: numberAbove(0),
  outputTokens: numberAbove(0),
  prices: listOf(objectOf(PRICES_SHAPE)),
  longPrompts: objectOf(LONG_PROMPTS_SHAPE),
  cache: cacheRule,
  alwaysThinks: flag,
  afterEdit: oneOf("refused", "dropped", "kept"),
  compaction: oneOf("on-demand"),
  resend: oneOf("tool-turns", "running-turn", "advised", "optional"),
  tokenizer: text,
  tokenizerMeasured: flag,
  source: text,
  readOn: day,
  remarks: recordOf({ expects: "the names of cells", pattern: /./ }, text),
};

const someNames = listOf(text);
const ROW_SHAPE: Shape<ModelRow> = {
  ...CELLS_SHAPE,
  names: required({
    expects: 'names of models, such as ["my-model"]',
    find: (value, path) =>
      Array.isArray(value) && value.length === 0
        ? rule('names of models, such as ["my-model"]', () => false).find(value, path)
        : someNames.find(value, path),
  }),
};

/** The cells of one row, where something else names the model. */
export const MODEL_CELLS_RULE: Rule = objectOf(CELLS_SHAPE);

/** The option `models`: rows of a user, which count before those that are built in. */
export const MODEL_ROWS_RULE: Rule = listOf(objectOf(ROW_SHAPE));

/** The rows of a user from the JSON of a file; throws everything that is wrong with them at once. */
export function readModelRows(value: unknown): readonly ModelRow[] {
  throwProblems(check({ models: required(MODEL_ROWS_RULE) }, { models: value }));
  return value as readonly ModelRow[];
}
