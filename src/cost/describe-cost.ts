import { formatNumber, plural } from "../text/truncate.ts";
import type { BreakCause, CacheBreak, SessionCost } from "./explain-cost.ts";
import { type ModelPrice, priceOf } from "./recorded-request.ts";

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

/** Dollars for people: cents, or more digits where there would be none. */
export function formatUSD(costUSD: number): string {
  const digits = costUSD === 0 || costUSD >= 0.1 ? 2 : 4;
  return `$${costUSD.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** In a few words why the cache was not read. */
export const CAUSE_NAMES: Readonly<Record<BreakCause, string>> = {
  model: "another model",
  compaction: "compaction",
  tools: "changed tools",
  system: "changed system prompt",
  settings: "changed settings",
  message: "changed messages",
  pause: "pause",
  provider: "provider miss",
  unknown: "not recorded why",
};

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

/** A sentence about a break: its cause, more of it, and how much was still cached. */
export function describeBreak(found: CacheBreak): string {
  const { cause, certainty, detail, also, cachedTokens, lostTokens } = found;
  const likely = certainty === "likely" && cause !== "unknown" ? " (likely)" : "";
  const more = detail === "" ? "" : `: ${detail}`;
  const others = also.length === 0 ? "" : `; also ${also.map((each) => CAUSE_NAMES[each]).join(", ")}`;
  const kept = `; ${formatNumber(cachedTokens - lostTokens)} of ${formatNumber(cachedTokens)} were still there`;
  return `${CAUSE_NAMES[cause]}${likely}${more}${others}${cause === "unknown" ? kept : ""}`;
}

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
export function priceSources({ requests }: SessionCost, prices?: readonly ModelPrice[]): readonly string[] {
  const rows = requests.flatMap(({ model, priced }) =>
    priced === "table" ? (priceOf(model, prices) ?? []) : [],
  );
  const listed = [...new Set(rows.map(({ source, readOn }) => `${source}, read on ${readOn}`))];
  const byAgent = requests.some(({ priced }) => priced === "agent") ? ["what the agent itself recorded"] : [];
  return [...byAgent, ...listed];
}

function count(tokens: number): string {
  return `${formatNumber(tokens)} tokens`;
}
