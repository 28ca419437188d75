import { expect } from "vitest";
import type {
  InspectedSession,
  Inspection,
  ItemPlace,
  ItemRow,
  ItemText,
  MessageRow,
  Sizes,
  WindowOptions,
  WindowView,
} from "../../../src/inspector/view/types.ts";
import type { Transcript } from "../../../src/transcript/message.ts";

/** Checks everything that holds for any view: one row a message, sums that agree, nothing kept that was not there. */
export function checkView(inspection: Inspection, options: WindowOptions): WindowView {
  const view = inspection.inspectWindow(options);
  const { rows, inserted } = view;
  const items = rows.flatMap((row) => row.items);
  expect(rows.map(({ index }) => index)).toEqual(rows.map((_, index) => index));
  expect(rows).toHaveLength(view.upTo);
  expect(new Set(items.map(({ key }) => key)).size).toBe(items.length);
  // One assertion for all of them: a view has thousands, and an assertion takes longer than what it looks at.
  expect(items.filter((item) => !isConsistent(item))).toEqual([]);
  const isSum = ({ tokens, keptTokens, items: own }: MessageRow): boolean =>
    own.length > 0 &&
    tokens === sum(own, (item) => item.tokens) &&
    keptTokens === sum(own, (item) => item.keptTokens);
  expect(rows.filter((row) => !isSum(row))).toEqual([]);
  const insertedTokens = sum(inserted, ({ tokens }) => tokens);
  expect(view.tokensBefore).toBe(sum(rows, ({ tokens }) => tokens));
  expect(view.tokensAfter).toBe(sum(rows, ({ keptTokens }) => keptTokens) + insertedTokens);
  expect(view.charsBefore).toBe(sum(items, ({ chars }) => chars));
  const fates = sumOf(view.byFate);
  expect(fates.tokensBefore).toBe(view.tokensBefore);
  expect(fates.tokensAfter).toBe(view.tokensAfter - insertedTokens);
  expect(sum(view.byReason, ({ savedTokens }) => savedTokens)).toBe(
    sum(items, ({ savedTokens }) => savedTokens),
  );
  expect(sum(view.byReason, (reason) => reason.items)).toBe(
    items.filter(({ stage }) => stage !== undefined).length,
  );
  expect(sumOf(view.byTool).tokensBefore).toBe(
    sum(items, ({ tool, tokens }) => (tool === undefined ? 0 : tokens)),
  );
  expect(view.cachedPrefix.tokens).toBeLessThanOrEqual(view.tokensAfter);
  return view;
}

/** Checks the views of all policies, every text in them, and both previews. */
export function checkSession(inspection: Inspection): void {
  const { length } = inspection.session.transcript;
  for (const { id: policy, budget } of inspection.policies) {
    for (const upTo of [length, length >> 1]) {
      const options = { policy, upTo, ...(budget && { budget: Math.min(budget.default, MOST) }) };
      const { rows } = checkView(inspection, options);
      for (const { id, items } of rows.slice(0, MOST_ROWS)) {
        for (const { partIndex, side, fate } of items) {
          const text = checkText(inspection, options, { messageId: id, partIndex, side });
          if (fate === "clipped") expect(text?.cuts).not.toEqual([]);
          if (fate === "kept") expect(text?.cuts ?? []).toEqual([]);
        }
      }
    }
  }
  for (const preview of Object.values(inspection.previewForks({ profile: "default", budgetChars: MOST }))) {
    expect(preview.chars).toBe(preview.text.length);
    expect(preview.cache.relativeCost).toBeGreaterThanOrEqual(0);
  }
  inspection.previewCompaction({ keepTokens: 1_000 });
}

const MOST = 5_000;
const MOST_ROWS = 50;

/** What of both texts is not marked is the same. */
export function checkText(
  inspection: Inspection,
  options: WindowOptions,
  place: ItemPlace,
): ItemText | undefined {
  const text = inspection.itemText(options, place);
  if (text !== undefined) expect(without(text.before, text.cuts)).toBe(without(text.after, text.added));
  return text;
}

function without(text: string, ranges: readonly { readonly start: number; readonly end: number }[]): string {
  let rest = "";
  let from = 0;
  for (const { start, end } of ranges) {
    if (start < from || end <= start)
      throw new Error(`the range ${start}–${end} does not go on from ${from}`);
    rest += text.slice(from, start);
    from = end;
  }
  return rest + text.slice(from);
}

function isConsistent(item: ItemRow): boolean {
  const { chars, keptChars, savedChars, tokens, keptTokens, savedTokens, fate, reason } = item;
  if (keptChars > chars || keptTokens > tokens) return false;
  if (savedChars !== chars - keptChars || savedTokens !== tokens - keptTokens) return false;
  return fate === "kept" ? savedTokens === 0 && reason === undefined : /^[A-Z].*\.$/s.test(reason ?? "");
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0);
}

function sumOf(values: readonly Sizes[]): Pick<Sizes, "tokensBefore" | "tokensAfter"> {
  return {
    tokensBefore: sum(values, ({ tokensBefore }) => tokensBefore),
    tokensAfter: sum(values, ({ tokensAfter }) => tokensAfter),
  };
}

/** A session around a transcript, with nothing else known about it. */
export function sessionOf(transcript: Transcript, more: Partial<InspectedSession> = {}): InspectedSession {
  return {
    name: "session.json",
    format: "opencode",
    windowTokens: 200_000,
    windowKnown: false,
    transcript,
    redactedSecrets: 0,
    problems: [],
    ...more,
  };
}
