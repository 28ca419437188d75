import { ANCHOR_TYPES, type Anchor, type AnchorType } from "../transcript/carried-facts.ts";
import { findAnchors } from "./anchor-index-extract.ts";
import type { Piece } from "./summary-pieces.ts";

/**
 * Exact things of a conversation with the place where each was seen last, the most telling first: what is
 * seen often, lately, and is of a kind that is hard to find again. Needs no model.
 */
export function collectAnchors(carried: readonly Anchor[], pieces: readonly Piece[]): readonly Anchor[] {
  const entries = new Map<string, Entry>();
  // Newest first: where there are too many, the older ones are those that do not get in.
  for (let index = pieces.length - 1; index >= 0; index--) {
    const piece = pieces[index] as Piece;
    const here = new Set<string>();
    for (const { type, text } of findAnchors(piece)) {
      const key = `${type}\n${text}`;
      if (here.has(key) || text.includes("REDACTED:")) continue;
      here.add(key);
      const known = entries.get(key);
      if (known !== undefined) known.seen++;
      else if (entries.size < MAX_CANDIDATES) {
        entries.set(key, { type, text, handle: piece.handle, seen: 1, recency: (index + 1) / pieces.length });
      }
    }
  }
  for (const [index, anchor] of carried.entries()) {
    const known = entries.get(`${anchor.type}\n${anchor.text}`);
    if (known !== undefined) known.seen += anchor.seen;
    // The best of the earlier ones hold their ground against the newest, the last of them fade.
    else
      entries.set(`${anchor.type}\n${anchor.text}`, { ...anchor, recency: 0.5 - index / carried.length / 2 });
  }
  return [...entries.values()]
    .sort((one, other) => scoreOf(other) - scoreOf(one))
    .slice(0, MAX_ANCHORS)
    .map(({ type, text, handle, seen }) => ({ type, text, handle, seen }));
}

/** The anchors whose list takes at most so many characters; no kind takes more than its share while others wait. */
export function selectAnchors(anchors: readonly Anchor[], maxChars: number): readonly Anchor[] {
  const chosen = new Set<Anchor>();
  const handles = new Set<string>();
  const leftOf = new Map<AnchorType, number>(ANCHOR_TYPES.map((type) => [type, maxChars * SHARES[type]]));
  let leftChars = maxChars;
  for (const limit of ["share", "all"] as const) {
    for (const anchor of anchors) {
      if (chosen.has(anchor)) continue;
      const chars = anchor.text.length + 2 + (handles.has(anchor.handle) ? 0 : anchor.handle.length + 5);
      const leftOfType = leftOf.get(anchor.type) ?? 0;
      if (chars > leftChars || (limit === "share" && chars > leftOfType)) continue;
      chosen.add(anchor);
      handles.add(anchor.handle);
      leftChars -= chars;
      leftOf.set(anchor.type, leftOfType - chars);
    }
  }
  return anchors.filter((anchor) => chosen.has(anchor));
}

interface Entry extends Anchor {
  seen: number;
  /** 1 for what was seen last; at most a half for what an earlier compaction carried. */
  readonly recency: number;
}

const MAX_CANDIDATES = 20_000;
const MAX_ANCHORS = 400;

const SHARES: Readonly<Record<AnchorType, number>> = {
  path: 0.3,
  error: 0.2,
  command: 0.2,
  identifier: 0.15,
  url: 0.08,
  sha: 0.07,
};

const WORTH: Readonly<Record<AnchorType, number>> = {
  error: 1.5,
  command: 1,
  path: 1,
  sha: 1,
  url: 0.5,
  identifier: 0,
};

function scoreOf({ type, seen, recency }: Entry): number {
  return WORTH[type] + Math.log2(1 + seen) + 2 * recency;
}
