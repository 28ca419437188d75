import type { ModelRow } from "../models/model-row.ts";
import { formatNumber, formatUSD, plural } from "../text/format-number.ts";
import type { CacheMiss, MissCause, SessionCost } from "./explain-cost.ts";
import { createPriceFinder } from "./recorded-request.ts";

/** What a session cost, row by row: a name, dollars, and what they were paid for. */
export function costRows({ totals }: SessionCost): readonly CostRow[] {
  const { byKind } = totals;
  const kinds: readonly CostRow[] = [
    ["output", byKind.outputUSD, count(totals.billedOutputTokens)],
    ["read from the cache", byKind.cacheReadUSD, count(totals.cacheReadTokens)],
    ["written to the cache", byKind.cacheWriteUSD, count(totals.cacheWriteTokens)],
    ["sent uncached", byKind.inputUSD, count(totals.inputTokens)],
  ];
  return kinds.filter(([, , text]) => text !== count(0));
}

/** How much of the cost was for what the cache could have given. */
export function cacheMissLine({ totals, cacheMissCost, misses }: SessionCost): string {
  if (misses.length === 0) return "Nothing that was cached had to be sent again.";
  const share =
    totals.costUSD > 0 ? ` (${Math.round((100 * cacheMissCost.costUSD) / totals.costUSD)} %)` : "";
  return `${formatUSD(cacheMissCost.costUSD)} of it${share} was for cache misses: ${count(cacheMissCost.tokens)} that the cache could have given, in ${plural(misses.length, "request")}.`;
}

/** A name, dollars, and what they were paid for. */
type CostRow = readonly [name: string, costUSD: number, text: string];

/** What one can do about a cause; undefined where nothing helps. */
export const CAUSE_ADVICE: Readonly<Record<MissCause, string | undefined>> = {
  model: "change the model in a new session, or after a compaction",
  compaction: undefined,
  tools: "start servers and tools before the first request, and leave them as they are",
  system: "leave instructions and agents as they are until the session ends",
  settings: "change thinking and effort between sessions",
  message: "let a plugin clear old results in batches, when that pays",
  idle: "compact or start a new session",
  provider: undefined,
  unknown: undefined,
};

/** The misses that cost most, the most expensive first. */
export function mostExpensive(misses: readonly CacheMiss[], count: number): readonly CacheMiss[] {
  const weight = ({ costUSD, missedTokens }: CacheMiss): number => costUSD ?? missedTokens / 1e9;
  return misses.toSorted((one, other) => weight(other) - weight(one)).slice(0, count);
}

/** Misses by cause, the most expensive cause first. */
export function causesByCost(misses: readonly CacheMiss[]): readonly CauseSum[] {
  const sums = new Map<MissCause, CauseSum>();
  for (const { cause, missedTokens, costUSD = 0 } of misses) {
    const { misses = 0, tokens = 0, costUSD: before = 0 } = sums.get(cause) ?? {};
    sums.set(cause, {
      cause,
      misses: misses + 1,
      tokens: tokens + missedTokens,
      costUSD: before + costUSD,
    });
  }
  return [...sums.values()].sort((one, other) => other.costUSD - one.costUSD || other.tokens - one.tokens);
}

/** The misses of one cause together. */
interface CauseSum {
  readonly cause: MissCause;
  readonly misses: number;
  readonly tokens: number;
  readonly costUSD: number;
}

/** Where the prices of a session come from, a line each. */
export function priceSources({ requests }: SessionCost, models?: readonly ModelRow[]): readonly string[] {
  const priceFor = createPriceFinder(models);
  const found = requests.flatMap((request) => (request.priced === "table" ? (priceFor(request) ?? []) : []));
  const listed = [
    ...new Set(
      found.map(({ source = "your own", readOn }) =>
        readOn === undefined ? source : `${source}, read on ${readOn}`,
      ),
    ),
  ];
  const byAgent = requests.some(({ priced }) => priced === "agent") ? ["what the agent itself recorded"] : [];
  return [...byAgent, ...listed];
}

function count(tokens: number): string {
  return `${formatNumber(tokens)} tokens`;
}
