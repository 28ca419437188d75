import type { KeptByPolicy, PolicyId, PolicyResult } from "../../view/types.ts";
import { count, percent } from "../words/numbers.ts";

/** Which policy is best here, and why, in a sentence for the session and one for a child. */
export function policyVerdict(
  results: readonly PolicyResult[],
  { kept, budgetTokens }: { readonly kept: readonly KeptByPolicy[]; readonly budgetTokens: number },
): string {
  const shareOf = ({ id }: PolicyResult): number => {
    const found = kept.find(({ policy }) => policy === id);
    return found === undefined || found.neededCount === 0 ? 0 : found.keptCount / found.neededCount;
  };
  // Rank by what is kept; among policies that keep about the same, by cost.
  const rank = (one: PolicyResult, other: PolicyResult): number =>
    Math.round(20 * shareOf(other)) - Math.round(20 * shareOf(one)) ||
    one.cache.relativeCost - other.cache.relativeCost;
  const said = (best: PolicyResult, others: readonly PolicyResult[]): string => {
    const than = others.find(({ id }) => id === "last-n" || id === "fixed");
    const keeps =
      kept.length === 0
        ? "this session is too short to tell what is needed next, and it costs least"
        : `it keeps ${percentOf(shareOf(best))} of what was needed next${than === undefined || than.id === best.id ? "" : ` (${than.label} ${percentOf(shareOf(than))})`}`;
    return `${best.label}: ${keeps}, in ${count(best.tokens)} tokens at ${Math.round(100 * best.cache.relativeCost)} % of the cost`;
  };
  const fits = (result: PolicyResult): boolean => result.tokens <= budgetTokens;
  const [now] = results;
  if (now === undefined) return "";
  const own = results.filter(({ id }) => !FOR_CHILDREN.has(id));
  const children = results.filter(({ id }) => FOR_CHILDREN.has(id));
  const [bestOwn] = own.filter(fits).toSorted(rank);
  const [bestChild] = children.filter(fits).toSorted(rank);
  const forSession = fits(now)
    ? `Use none: the window of ${count(now.tokens)} tokens fits the budget, and a change would only have the cache written anew.`
    : bestOwn === undefined
      ? "None of them brings the window down to this budget."
      : `Use ${said(bestOwn, own)}.`;
  return bestChild === undefined ? forSession : `${forSession} For a child use ${said(bestChild, children)}.`;
}

/** What a child inherits; the others are for the session itself. */
const FOR_CHILDREN: ReadonlySet<PolicyId> = new Set(["fill", "fixed"]);

function percentOf(share: number): string {
  return percent(share, 1);
}
