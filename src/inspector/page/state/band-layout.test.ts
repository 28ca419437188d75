import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createInspection } from "../../view/inspection.ts";
import type { ItemRow, MessageRow, WindowView } from "../../view/types.ts";
import { minimapRows } from "../strata/minimap.tsx";
import { bandAfterKeyPress, bandsBetween, type ListChoice, layoutBands } from "./band-layout.ts";

const layout = (rows: readonly (readonly number[])[], change: Partial<WindowView> = {}, windowTokens = 1e9) =>
  layoutBands(viewOf(rows, change), { windowTokens });

describe("the strata", () => {
  it("put every item under the one before, without a hole", () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(100_000), { maxLength: 4 }), { maxLength: 30 }), (rows) => {
        const { bands, heightPx } = layout(rows);
        let topPx = 0;
        for (const band of bands) {
          expect(band.topPx).toBe(topPx);
          topPx += band.heightPx;
        }
        expect(heightPx).toBe(topPx);
        const items = bands.filter(({ type }) => type === "item");
        expect(items).toHaveLength(rows.reduce((sum, { length }) => sum + length, 0));
      }),
    );
  });

  it("are of one height, and know the largest, whose bar is the longest", () => {
    const { bands, mostTokens } = layout([[1], [90_000], [30]]);
    expect(new Set(bands.filter(({ type }) => type === "item").map(({ heightPx }) => heightPx)).size).toBe(1);
    expect(mostTokens).toBe(90_000);
  });

  it("give what is between two heights, whatever the heights", () => {
    const laid = layout(Array.from({ length: 40 }, (_, at) => [at * 50, 7]));
    fc.assert(
      fc.property(fc.integer({ min: -500, max: 9_000 }), fc.nat(2_000), (fromPx, sizePx) => {
        const expected = laid.bands.filter(
          ({ topPx, heightPx }) => topPx + heightPx > fromPx && topPx < fromPx + sizePx,
        );
        const { first, bands } = bandsBetween(laid, fromPx, fromPx + sizePx);
        expect(bands).toEqual(expected);
        if (bands.length > 0) expect(laid.bands[first]).toBe(bands[0]);
      }),
    );
  });

  it("show an empty message as one band", () => {
    expect(layout([[]]).bands.map(({ type }) => type)).toEqual(["empty"]);
  });

  it("begin the window where the first message is that is sent", () => {
    const kinds = layout([[0], [5], [6]], { boundaries: [1] }).bands.map((band) =>
      band.type === "line" ? band.lines.join("+") : band.type,
    );
    expect(kinds).toEqual(["item", "compaction+window", "item", "item"]);
  });

  it("fold what is before the window into one line, and open it again", () => {
    const list = { earlier: "folded", sort: "time", shape: "rows", filter: {} } as const;
    const view = viewOf([[0, 0], [0], [5], [6]], { boundaries: [1, 2] });
    const folded = layoutBands(view, { windowTokens: 1e9, list });
    expect(folded.bands.map(({ type }) => type)).toEqual(["folded", "line", "item", "item"]);
    expect(folded.bands[0]).toMatchObject({ key: "earlier", messages: 2, topPx: 0 });
    expect(folded.rowTopsPx).toHaveLength(5);
    expect(folded.optionCount).toBe(folded.places.size);
    const open = layoutBands(view, { windowTokens: 1e9, list: { ...list, earlier: "open" }, last: folded });
    expect(open).toEqual(layoutBands(view, { windowTokens: 1e9 }));
  });

  it("keep what the filter names, the largest first when asked for, and take nothing over from another order", () => {
    const view = viewOf([[0], [5, 9], [7]], {});
    const [tool, other] = ["read", "bash"];
    const rows = view.rows.map((row) => ({
      ...row,
      items: row.items.map((item, at) => ({ ...item, tool: at === 0 ? tool : other })),
    }));
    const choice = { earlier: "folded", sort: "size", shape: "rows", filter: {} } as const;
    const keysOf = (list: ListChoice): readonly string[] =>
      layoutBands({ ...view, rows }, { windowTokens: 1e9, list }).bands.map(({ key }) => key);
    const all = rows.flatMap(({ items }) => items);
    const largest = all.slice(1).toSorted((one, two) => two.tokens - one.tokens);
    expect(keysOf(choice)).toEqual(["earlier", ...largest.map(({ key }) => key)]);
    const bash = all.filter((item) => item.tool === other).map(({ key }) => key);
    expect(keysOf({ ...choice, filter: { tool: other } })).toEqual(bash);
    const last = layoutBands({ ...view, rows }, { windowTokens: 1e9, list: { ...choice, earlier: "open" } });
    expect(layoutBands({ ...view, rows }, { windowTokens: 1e9, last })).toEqual(
      layoutBands({ ...view, rows }, { windowTokens: 1e9 }),
    );
  });

  it("say where the window is full", () => {
    const kinds = layout([[10], [10], [10]], {}, 25).bands.map((band) =>
      band.type === "line" ? band.lines.join("+") : band.type,
    );
    expect(kinds).toEqual(["window", "item", "full", "item", "item"]);
  });

  it("draw the cached prefix from the first message that is sent to its end", () => {
    const laid = layout([[0], [5], [6], [7]], { cachedPrefix: { messages: 2, tokens: 11, endIndex: 3 } });
    expect(laid.cached?.topPx).toBe(laid.rowTopsPx[1]);
    expect((laid.cached?.topPx ?? 0) + (laid.cached?.heightPx ?? 0)).toBeLessThan(laid.rowTopsPx[3] ?? 0);
  });

  it("put what a policy inserts before its row, also behind the last", () => {
    const inserted = [0, 9].map((beforeIndex, at) => ({
      beforeIndex,
      id: `new-${at}`,
      role: "user",
      kind: "summary" as const,
      text: "so far",
      chars: 6,
      tokens: 2,
      stage: "local-summary",
      reason: "summarized",
      about: "It stands for what was before.",
    }));
    const kinds = layout([[5], [6]], { inserted }).bands.map(({ type }) => type);
    expect(kinds).toEqual(["inserted", "line", "item", "item", "inserted"]);
  });
});

describe("the strata after others", () => {
  const sizes = fc.array(fc.array(fc.nat(3), { maxLength: 3 }), { maxLength: 12 });

  /** Every row twice: as it was, and with its last item gone. */
  const pools = Array.from({ length: 12 }, (_, index) =>
    [[7], [9, 9], [3, 4, 5]].map((row) => {
      const whole = rowOf(row, index);
      return [whole, withoutLast(whole)];
    }),
  );
  const viewFrom = (picks: readonly (readonly number[])[]): WindowView => {
    const rows = picks.map(([shape = 0, state = 0], index) => pools[index]?.[shape % 3]?.[state % 2]);
    return { ...viewOf([], {}), rows: rows.filter((row) => row !== undefined) };
  };

  it("are the same as without, and keep every band of which nothing has changed", () => {
    fc.assert(
      fc.property(fc.tuple(sizes, sizes, sizes, sizes), fc.nat(60), (picks, windowTokens) => {
        const [before, beforeB, after, afterB] = picks.map(viewFrom);
        if (before === undefined || after === undefined) throw new Error("no views");
        const last = layoutBands(before, { b: beforeB, windowTokens });
        const laid = layoutBands(after, { b: afterB, windowTokens, last });
        const fresh = layoutBands(after, { b: afterB, windowTokens });
        expect(laid.bands).toEqual(fresh.bands);
        for (const [at, band] of laid.bands.entries()) {
          const other = fresh.bands[at];
          if (band.type !== "item" || other?.type !== "item") continue;
          expect(band.item).toBe(other.item);
          expect(band.row).toBe(other.row);
          expect(band.itemB).toBe(other.itemB);
        }
        expect(laid.places).toEqual(fresh.places);
        expect(laid.optionCount).toBe(laid.places.size);
      }),
    );
  });

  it("are all known when nothing has changed", () => {
    const view = viewOf([[5, 6], [7]], {});
    const last = layoutBands(view, { windowTokens: 1e9 });
    const laid = layoutBands({ ...view }, { windowTokens: 1e9, last });
    const items = laid.bands.filter(({ type }) => type === "item");
    expect(items).toHaveLength(3);
    for (const band of items) expect(last.bands).toContain(band);
  });
});

describe("the keyboard", () => {
  const laid = layout([[1, 2], [3], [4, 5, 6]]);
  it.each([
    { pressed: "ArrowDown", from: undefined, to: "0.0" },
    { pressed: "ArrowDown", from: "0.0", to: "0.1" },
    { pressed: "ArrowDown", from: "2.2", to: undefined },
    { pressed: "ArrowUp", from: "1.0", to: "0.1" },
    { pressed: "ArrowUp", from: undefined, to: "2.2" },
    { pressed: "ArrowRight", from: "0.0", to: "1.0" },
    { pressed: "ArrowRight", from: "1.0", to: "2.0" },
    { pressed: "ArrowLeft", from: "2.2", to: "2.0" },
    { pressed: "ArrowLeft", from: "2.0", to: "1.0" },
    { pressed: "Home", from: "2.1", to: "0.0" },
    { pressed: "End", from: "0.1", to: "2.2" },
    { pressed: "PageDown", from: "0.0", to: "2.2" },
    { pressed: "PageUp", from: "2.1", to: "0.0" },
    { pressed: "x", from: "0.0", to: undefined },
  ])("$pressed leads from $from to $to", ({ pressed, from, to }) => {
    expect(bandAfterKeyPress(pressed, laid, from)).toBe(to);
  });

  it("stays on the page when nothing is there", () => {
    expect(bandAfterKeyPress("ArrowDown", layout([]), undefined)).toBeUndefined();
    expect(bandAfterKeyPress("PageDown", layout([]), undefined)).toBeUndefined();
  });
});

describe("the map", () => {
  it("has a row for every pixel, also where many items share one", () => {
    const many = layout(Array.from({ length: 2_000 }, (_, at) => [at % 90, 5]));
    const { rows } = minimapRows(many, { rowCount: 300, matches: new Set() });
    expect(rows).toHaveLength(300);
    expect(rows.filter((row) => row === undefined).length).toBeLessThan(3);
  });

  it("shows what is not sent as empty, also without tokens", () => {
    const laid = layout([[0], [9]]);
    const gone = laid.bands.map((band) =>
      band.type === "item"
        ? { ...band, item: { ...band.item, fate: "hidden" as const, keptTokens: 0 } }
        : band,
    );
    const { rows } = minimapRows({ ...laid, bands: gone }, { rowCount: 40, matches: new Set() });
    const shares = new Set(rows.map((row) => row?.share).filter((share) => share !== undefined));
    expect([...shares]).toEqual([0]);
  });

  it("marks lines and matches", () => {
    const laid = layout([[5], [6]]);
    const { marks } = minimapRows(laid, { rowCount: 100, matches: new Set(["1.0"]) });
    expect(marks.lines).toEqual([0]);
    expect(marks.matches).toHaveLength(1);
  });
});

it("lays out what the engine gives for a real policy", () => {
  const transcript = [{ id: "m", role: "user", parts: [{ type: "text" as const, text: "hello" }] }];
  const session = { name: "s", format: "opencode", windowTokens: 10, windowKnown: true } as const;
  const inspection = createInspection({ ...session, transcript, redactedSecrets: 0, problems: [] });
  const laid = layoutBands(inspection.inspectWindow({ policy: "as-sent" }), { windowTokens: 10 });
  expect(laid.bands.map(({ type }) => type)).toEqual(["line", "item"]);
});

/** A view in which each list of numbers is a message, and each number the tokens of an item that is kept whole. */
function viewOf(rows: readonly (readonly number[])[], change: Partial<WindowView>): WindowView {
  return {
    policy: "as-sent",
    upTo: rows.length,
    rows: rows.map(rowOf),
    inserted: [],
    boundaries: [],
    size: { tokens: 0, source: "heuristic", outsideTokens: 0, scale: 1 },
    cachedPrefix: { messages: 0, tokens: 0, endIndex: 0 },
    byFate: [],
    byTool: [],
    byFile: [],
    byReason: [],
    tokensBefore: 0,
    tokensAfter: 0,
    charsBefore: 0,
    charsAfter: 0,
    ...change,
  };
}

function rowOf(sizes: readonly number[], index: number): MessageRow {
  const items = sizes.map((tokens, at): ItemRow => {
    const size = {
      chars: tokens,
      tokens,
      keptChars: tokens,
      keptTokens: tokens,
      savedChars: 0,
      savedTokens: 0,
    };
    const place = { key: `${index}.${at}`, partIndex: at, handle: `m${index}/${at}` };
    return { ...place, ...size, kind: "user", side: "text", fate: "kept" };
  });
  const tokens = sizes.reduce((sum, size) => sum + size, 0);
  return { index, id: `m${index}`, role: "user", tokens, keptTokens: tokens, fate: "kept", items };
}

function withoutLast(row: MessageRow): MessageRow {
  const items = row.items.map((item, at) =>
    at === row.items.length - 1 ? { ...item, keptTokens: 0, fate: "hidden" as const } : item,
  );
  return { ...row, items, keptTokens: 0 };
}
