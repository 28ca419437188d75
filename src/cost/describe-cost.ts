import type { ModelRow } from "../models/model-row.ts";
import { formatNumber, formatUSD, plural } from "../text/format-number.ts";
import type { BreakCause, CacheBreak, SessionCost } from "./explain-cost.ts";
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
export function rewritingLine({ totals, rewriting, breaks }: SessionCost): string {
  if (breaks.length === 0) return "Nothing that was cached had to be sent again.";
  const share = totals.costUSD > 0 ? ` (${Math.round((100 * rewriting.costUSD) / totals.costUSD)} %)` : "";
  return `${formatUSD(rewriting.costUSD)} of it${share} was rewriting: ${count(rewriting.tokens)} that the cache could have given, in ${plural(breaks.length, "request")}.`;
}

/** A name, dollars, and what they were paid for. */
type CostRow = readonly [name: string, costUSD: number, text: string];

/** What one can do about a cause; undefined where nothing helps. */
export const CAUSE_ADVICE: Readonly<Record<BreakCause, string | undefined>> = {
  model: "change the model in a new session, or after a compaction",
  compaction: undefined,
  tools: "start servers and tools before the first request, and leave them as they are",
  system: "leave instructions and agents as they are until the session ends",
  settings: "change thinking and effort between sessions",
  message: "let a plugin clear old results in batches, when that pays",
  pause: "after a long one compact, or begin anew",
  provider: undefined,
  unknown: undefined,
};

/** The breaks that cost most, the dearest first. */
export function dearest(breaks: readonly CacheBreak[], count: number): readonly CacheBreak[] {
  const weight = ({ costUSD, rewrittenTokens }: CacheBreak): number => costUSD ?? rewrittenTokens / 1e9;
  return breaks.toSorted((one, other) => weight(other) - weight(one)).slice(0, count);
}

/** Breaks by cause, the dearest cause first. */
export function causesByCost(breaks: readonly CacheBreak[]): readonly CauseSum[] {
  const sums = new Map<BreakCause, CauseSum>();
  for (const { cause, rewrittenTokens, costUSD = 0 } of breaks) {
    const { breaks = 0, tokens = 0, costUSD: before = 0 } = sums.get(cause) ?? {};
    sums.set(cause, {
      cause,
      breaks: breaks + 1,
      tokens: tokens + rewrittenTokens,
      costUSD: before + costUSD,
    });
  }
  return [...sums.values()].sort((one, other) => other.costUSD - one.costUSD || other.tokens - one.tokens);
}

/** The breaks of one cause together. */
interface CauseSum {
  readonly cause: BreakCause;
  readonly breaks: number;
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
