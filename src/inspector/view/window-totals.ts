import { explainReason } from "./explain-reason.ts";
import type {
  Fate,
  InsertedRow,
  ItemRow,
  MessageRow,
  NamedTotal,
  PolicyId,
  ReasonTotal,
  Sizes,
  WindowView,
} from "./types.ts";

export function createWindowTotals(): WindowTotaller {
  const last = new Map<PolicyId, Sums>();
  return (policy, rows, inserted) => {
    const sums = last.get(policy) ?? {
      rows: [],
      whole: nothing(),
      fates: new Map(),
      tools: new Map(),
      files: new Map(),
      reasons: new Map(),
    };
    last.set(policy, sums);
    const { rows: before } = sums;
    for (let index = 0; index < Math.max(rows.length, before.length); index++) {
      if (rows[index] === before[index]) continue;
      for (const item of before[index]?.items ?? []) addItem(sums, item, -1);
      for (const item of rows[index]?.items ?? []) addItem(sums, item, 1);
    }
    sums.rows = rows;
    return totalsOf(sums, inserted);
  };
}

/** Sums up a view of a policy; only rows that differ from the policy's last view are counted anew. */
export type WindowTotaller = (
  policy: PolicyId,
  rows: readonly MessageRow[],
  inserted: readonly InsertedRow[],
) => WindowTotals;

type WindowTotals = Pick<WindowView, keyof Sizes | "byFate" | "byTool" | "byFile" | "byReason">;

/** Every fate, in the order of the totals. */
const FATES: readonly Fate[] = ["kept", "clipped", "cleared", "superseded", "summarized", "hidden"];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type Tally = Mutable<Sizes> & { items: number };

interface Sums {
  rows: readonly MessageRow[];
  readonly whole: Tally;
  readonly fates: Map<Fate, Tally>;
  readonly tools: Map<string, Tally>;
  readonly files: Map<string, Tally>;
  /** By stage, reason and fate. */
  readonly reasons: Map<string, Mutable<ReasonTotal>>;
}

function totalsOf(
  { whole, fates, tools, files, reasons }: Sums,
  inserted: readonly InsertedRow[],
): WindowTotals {
  const { items: _, ...sizes } = whole;
  for (const { chars, tokens } of inserted) {
    sizes.charsAfter += chars;
    sizes.tokensAfter += tokens;
  }
  return {
    ...sizes,
    byFate: FATES.flatMap((fate) => {
      const tally = fates.get(fate);
      return tally === undefined || tally.items === 0 ? [] : [{ fate, ...tally }];
    }),
    byTool: named(tools),
    byFile: named(files),
    byReason: [...reasons.values()]
      .filter(({ items }) => items > 0)
      .map((total) => ({ ...total }))
      .sort((a, b) => b.savedTokens - a.savedTokens || compareText(a.about, b.about)),
  };
}

function addItem({ whole, fates, tools, files, reasons }: Sums, item: ItemRow, sign: 1 | -1): void {
  add(whole, item, sign);
  add(at(fates, item.fate), item, sign);
  if (item.tool !== undefined) add(at(tools, item.tool), item, sign);
  if (item.path !== undefined) add(at(files, item.path), item, sign);
  if (item.stage !== undefined) addReason(reasons, item, sign);
}

function nothing(): Tally {
  return { items: 0, tokensBefore: 0, tokensAfter: 0, charsBefore: 0, charsAfter: 0 };
}

function at<K>(tallies: Map<K, Tally>, key: K): Tally {
  const tally = tallies.get(key) ?? nothing();
  tallies.set(key, tally);
  return tally;
}

function add(tally: Tally, { tokens, keptTokens, chars, keptChars }: ItemRow, sign: 1 | -1): void {
  tally.items += sign;
  tally.tokensBefore += sign * tokens;
  tally.tokensAfter += sign * keptTokens;
  tally.charsBefore += sign * chars;
  tally.charsAfter += sign * keptChars;
}

function addReason(reasons: Sums["reasons"], item: ItemRow, sign: 1 | -1): void {
  const { stage = "", reasonId = "", fate, savedChars, savedTokens } = item;
  const key = `${stage}\n${reasonId}\n${fate}`;
  let total = reasons.get(key);
  if (total === undefined) {
    const about = explainReason({ stage, reason: reasonId });
    total = { stage, reason: reasonId, fate, about, items: 0, savedChars: 0, savedTokens: 0 };
    reasons.set(key, total);
  }
  total.items += sign;
  total.savedChars += sign * savedChars;
  total.savedTokens += sign * savedTokens;
}

/** The largest first; ties by name, so that the order depends on nothing else. */
function named(tallies: ReadonlyMap<string, Tally>): readonly NamedTotal[] {
  return Array.from(tallies, ([name, tally]) => ({ name, ...tally }))
    .filter(({ items }) => items > 0)
    .sort((a, b) => b.tokensBefore - a.tokensBefore || compareText(a.name, b.name));
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
