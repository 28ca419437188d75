import { omitUndefined } from "../text/unknown-value.ts";
import { familyOf, isModelNamed, modelWords, windowInName } from "./model-name.ts";
import type { ModelRef } from "./model-ref.ts";
import type { AfterEdit, DatedPrices, LongPrompts, ModelRow, Resend } from "./model-row.ts";
import builtIn from "./models.json" with { type: "json" };

/** The rows that are built in, the newest model of each family first. */
const MODEL_ROWS: readonly ModelRow[] = builtIn as readonly ModelRow[];

/**
 * What is known of a model: the row with the longest matching name, else the most similar model of its family, else
 * usual values. Rows of the caller override built-in rows cell by cell.
 */
export function modelFacts({ provider, id }: Partial<ModelRef>, lookup: ModelLookup = {}): ModelFacts {
  const words = modelWords(id ?? "");
  const own = namedRow(words, lookup.rows ?? []);
  const named = namedRow(words, MODEL_ROWS);
  const family = own?.family ?? named?.family ?? familyOf(words, provider);
  const alike = family === undefined ? undefined : likestRow(words, family);
  const known = own !== undefined || named !== undefined ? "name" : alike !== undefined ? "family" : "none";
  const row: Partial<ModelRow> = { ...(named ?? alike), ...omitUndefined(own ?? {}) };
  const prices = pricesOn(row, lookup.on);
  return {
    known,
    name: row.names?.[0],
    family,
    ...limitsOf({ words, own, named, alike }),
    cache: cacheOf(row, prices),
    // Prices are never taken over from another model.
    ...omitUndefined({ prices: known === "name" ? prices : undefined, longPrompts: row.longPrompts }),
    ...omitUndefined({ alwaysThinks: row.alwaysThinks, source: row.source, readOn: row.readOn }),
    afterEdit: row.afterEdit ?? "kept",
    ...omitUndefined({ compaction: row.compaction }),
    resend: row.resend ?? "optional",
    tokenizer: row.tokenizer ?? "other",
    tokenizerMeasured: known === "name" && row.tokenizerMeasured === true,
    assumed: assumedCells(words, { ...named, ...omitUndefined(own ?? {}) }),
    remarks: row.remarks ?? {},
  };
}

/**
 * The window of a model that accepted a prompt of this size: the next larger window in its family, because windows
 * grow in steps.
 */
export function windowThatTook(
  model: Partial<ModelRef>,
  promptTokens: number,
  lookup: ModelLookup = {},
): number {
  const facts = modelFacts(model, lookup);
  const { contextTokens, inputTokens = contextTokens, family } = facts;
  if (promptTokens <= Math.min(contextTokens, inputTokens)) return contextTokens;
  const larger = MODEL_ROWS.flatMap((row) =>
    row.family === family && family !== undefined ? (row.contextTokens ?? []) : [],
  ).filter((tokens) => tokens >= promptTokens);
  return larger.length > 0 ? Math.min(...larger) : promptTokens;
}

/** How facts are looked up. */
export interface ModelLookup {
  /** Rows that count before those that are built in. */
  readonly rows?: readonly ModelRow[] | undefined;
  /** The day for which prices are wanted, such as "2026-11-17". @default the day on which the row was read */
  readonly on?: string | undefined;
}

/** The facts of a model. Every cell that the engine needs has a value; `assumed` names those that no row states. */
export interface ModelFacts {
  /** `family`: the facts are those of `name`, a model of its family. `none`: they are what is usual. */
  readonly known: "name" | "family" | "none";
  /** The model whose facts these are. */
  readonly name: string | undefined;
  readonly family: string | undefined;
  readonly contextTokens: number;
  /** The most input, where that has a limit of its own. */
  readonly inputTokens?: number;
  /** The most output; how much of the window is reserved for it is decided elsewhere. */
  readonly outputTokens: number;
  /** US dollars for a million tokens; unset where the model itself has none in the table. */
  readonly prices?: DatedPrices;
  readonly longPrompts?: LongPrompts;
  readonly cache: ModelCache | "none";
  readonly alwaysThinks?: boolean;
  readonly afterEdit: AfterEdit;
  readonly compaction?: "on-demand";
  readonly resend: Resend;
  readonly tokenizer: string;
  readonly tokenizerMeasured: boolean;
  /** Cells without a source for this model. */
  readonly assumed: readonly AssumableCell[];
  readonly source?: string;
  readonly readOn?: string;
  readonly remarks: Readonly<Record<string, string>>;
}

type AssumableCell = "contextTokens" | "outputTokens" | "cache";

/** A provider's cache in multiples of the price of input. */
export interface ModelCache {
  /** How long a prompt may be kept; the default first. */
  readonly lives: readonly string[];
  readonly readFactor: number;
  /** By lifetime; 1 (the price of input) for others. */
  readonly writeFactor: Readonly<Record<string, number>>;
  readonly leastTokens: number;
  readonly stepTokens: number;
}

/** Values of most models when nothing better is known. */
const USUAL = { contextTokens: 128_000, outputTokens: 16_384 };
/** For an unknown cache: an edit counts as a cache miss, and the cache expires soon. */
const USUAL_CACHE = { life: "5m", readFactor: 0.1, writeFactor: 1.25, leastTokens: 1_024, stepTokens: 1 };

interface FoundRows {
  readonly words: readonly string[];
  readonly own: ModelRow | undefined;
  readonly named: ModelRow | undefined;
  readonly alike: ModelRow | undefined;
}

function limitsOf({ words, own, named, alike }: FoundRows) {
  const inName = windowInName(words);
  const known = named?.contextTokens === undefined ? alike : named;
  // An input limit is only valid together with the window of the same row.
  const window: Partial<ModelRow> =
    own?.contextTokens !== undefined
      ? own
      : inName !== undefined
        ? { contextTokens: inName }
        : { ...known, ...omitUndefined({ inputTokens: own?.inputTokens }) };
  const { contextTokens = USUAL.contextTokens, inputTokens } = window;
  return {
    contextTokens,
    ...omitUndefined({ inputTokens }),
    // The output cannot exceed the window.
    outputTokens:
      own?.outputTokens ??
      named?.outputTokens ??
      Math.min(alike?.outputTokens ?? USUAL.outputTokens, Math.floor(contextTokens / 2)),
  };
}

function cacheOf({ cache = {} }: Partial<ModelRow>, prices: DatedPrices | undefined): ModelFacts["cache"] {
  if (cache === "none") return cache;
  const { leastTokens = USUAL_CACHE.leastTokens, stepTokens = USUAL_CACHE.stepTokens } = cache;
  const lives = cache.lives ?? Object.keys(prices?.cacheWrite ?? {});
  const rest = { lives: lives.length > 0 ? lives : [USUAL_CACHE.life], leastTokens, stepTokens };
  if (prices !== undefined && prices.input > 0) {
    const writes = Object.entries(prices.cacheWrite ?? {});
    return {
      ...rest,
      readFactor: share(prices.cacheRead, prices.input),
      writeFactor: Object.fromEntries(writes.map(([life, price]) => [life, share(price, prices.input)])),
    };
  }
  const { readFactor, writeFactor = {} } = cache;
  if (readFactor !== undefined) return { ...rest, readFactor, writeFactor };
  const usual = Object.fromEntries(rest.lives.map((life) => [life, USUAL_CACHE.writeFactor]));
  return { ...rest, readFactor: USUAL_CACHE.readFactor, writeFactor: usual };
}

/** Rounds away binary fractions of a division. */
function share(price: number, input: number): number {
  return Number((price / input).toPrecision(9));
}

function assumedCells(words: readonly string[], said: Partial<ModelRow>): readonly AssumableCell[] {
  const { contextTokens = windowInName(words), outputTokens, cache, prices } = said;
  const hasPrice = prices !== undefined || (cache !== "none" && cache?.readFactor !== undefined);
  const isCacheKnown = cache === "none" || (hasPrice && cache?.lives !== undefined);
  return [
    ...(contextTokens === undefined ? ["contextTokens" as const] : []),
    ...(outputTokens === undefined ? ["outputTokens" as const] : []),
    ...(isCacheKnown ? [] : ["cache" as const]),
  ];
}

/** The prices in force on a day; before the first of them, the first. */
function pricesOn({ prices = [], readOn }: Partial<ModelRow>, on = readOn): DatedPrices | undefined {
  const dated = prices.toSorted((one, other) => ((one.from ?? "") < (other.from ?? "") ? -1 : 1));
  return dated.findLast(({ from = "" }) => on === undefined || from <= on) ?? dated[0];
}

/** The row with the longest name that the words contain. */
/** The row of a caller that names a model. */
export function ownRow(
  { id = "" }: Partial<ModelRef>,
  rows: readonly ModelRow[] | undefined,
): ModelRow | undefined {
  return rows && namedRow(modelWords(id), rows);
}

function namedRow(words: readonly string[], rows: readonly ModelRow[]): ModelRow | undefined {
  let [best, length]: [ModelRow | undefined, number] = [undefined, 0];
  for (const row of rows)
    for (const name of wordsOfNames(row))
      if (name.length > length && isModelNamed(words, name)) [best, length] = [row, name.length];
  return best;
}

/** The most similar row of a family: most shared words, then main version, then whole version, then the newest. */
function likestRow(words: readonly string[], family: string): ModelRow | undefined {
  let [best, most]: [ModelRow | undefined, number] = [undefined, -1];
  const version = words.filter(isNumber);
  for (const row of MODEL_ROWS) {
    if (row.family !== family || row.contextTokens === undefined) continue;
    for (const name of wordsOfNames(row)) {
      const shared = name.filter((word) => !isNumber(word) && words.includes(word)).length;
      const other = name.filter(isNumber);
      const isMain = version.length > 0 && other[0] === version[0];
      const score = shared + (isMain ? 1 : 0) + (isMain && other.join() === version.join() ? 0.5 : 0);
      if (score > most) [best, most] = [row, score];
    }
  }
  return best;
}

function isNumber(word: string): boolean {
  return /^\d{1,2}$/.test(word);
}

const namesOfRows = new WeakMap<ModelRow, readonly (readonly string[])[]>();

function wordsOfNames(row: ModelRow): readonly (readonly string[])[] {
  const known = namesOfRows.get(row) ?? row.names.map(modelWords);
  namesOfRows.set(row, known);
  return known;
}
