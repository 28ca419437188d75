import { explainReason } from "./explain-reason.ts";
import type {
  Fate,
  FateTotal,
  InsertedRow,
  ItemRow,
  MessageRow,
  NamedTotal,
  ReasonTotal,
  Sizes,
} from "./types.ts";

/** Every sum of a view. Messages that a policy puts in count only in what is left. */
export function windowTotals(rows: readonly MessageRow[], inserted: readonly InsertedRow[]): WindowTotals {
  const whole = nothing();
  const fates = new Map<Fate, Tally>();
  const tools = new Map<string, Tally>();
  const files = new Map<string, Tally>();
  const reasons = new Map<string, Mutable<ReasonTotal>>();
  for (const { items } of rows) {
    for (const item of items) {
      add(whole, item);
      add(at(fates, item.fate), item);
      if (item.tool !== undefined) add(at(tools, item.tool), item);
      if (item.path !== undefined) add(at(files, item.path), item);
      if (item.stage !== undefined) addReason(reasons, item);
    }
  }
  for (const { chars, tokens } of inserted) {
    whole.charsAfter += chars;
    whole.tokensAfter += tokens;
  }
  const { items: _, ...sizes } = whole;
  return {
    ...sizes,
    byFate: FATES.flatMap((fate) => {
      const tally = fates.get(fate);
      return tally === undefined ? [] : [{ fate, ...tally }];
    }),
    byTool: named(tools),
    byFile: named(files),
    byReason: [...reasons.values()].sort((a, b) => b.savedTokens - a.savedTokens),
  };
}

export interface WindowTotals extends Sizes {
  readonly byFate: readonly FateTotal[];
  readonly byTool: readonly NamedTotal[];
  readonly byFile: readonly NamedTotal[];
  readonly byReason: readonly ReasonTotal[];
}

/** Every fate, in the order in which a legend names them. */
export const FATES: readonly Fate[] = ["kept", "clipped", "cleared", "superseded", "summarized", "hidden"];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Tally = Mutable<Sizes> & { items: number };

function nothing(): Tally {
  return { items: 0, tokensBefore: 0, tokensAfter: 0, charsBefore: 0, charsAfter: 0 };
}

function at<K>(tallies: Map<K, Tally>, key: K): Tally {
  let tally = tallies.get(key);
  if (tally === undefined) {
    tally = nothing();
    tallies.set(key, tally);
  }
  return tally;
}

function add(tally: Tally, { tokens, keptTokens, chars, keptChars }: ItemRow): void {
  tally.items++;
  tally.tokensBefore += tokens;
  tally.tokensAfter += keptTokens;
  tally.charsBefore += chars;
  tally.charsAfter += keptChars;
}

function addReason(reasons: Map<string, Mutable<ReasonTotal>>, item: ItemRow): void {
  const { stage = "", reasonId = "", fate, savedChars, savedTokens } = item;
  const key = `${stage}/${reasonId}/${fate}`;
  let total = reasons.get(key);
  if (total === undefined) {
    const about = explainReason({ stage, reason: reasonId });
    total = { stage, reason: reasonId, fate, about, items: 0, savedChars: 0, savedTokens: 0 };
    reasons.set(key, total);
  }
  total.items++;
  total.savedChars += savedChars;
  total.savedTokens += savedTokens;
}

function named(tallies: ReadonlyMap<string, Tally>): readonly NamedTotal[] {
  return Array.from(tallies, ([name, tally]) => ({ name, ...tally })).sort(
    (a, b) => b.tokensBefore - a.tokensBefore,
  );
}
