import type { LineLink } from "./live-branch.ts";
import type { PlacedLine } from "./piece.ts";

export interface Relink {
  /** The lines as they were. */
  readonly lines: readonly unknown[];
  readonly isLive: readonly boolean[];
  readonly placed: readonly PlacedLine[];
  readonly linkOf: (line: unknown) => LineLink | undefined;
  /** The line with another parent; undefined begins a conversation. */
  readonly withParent: (line: object, parent: string | undefined) => object;
}

/**
 * The lines with their chain whole: a line whose parent left follows the nearest one that stayed, and around new and
 * moved lines each follows the one before it. Lines of other branches go in front when they would else be the newest.
 */
export function relink({ lines, isLive, placed, linkOf, withParent }: Relink): readonly unknown[] {
  if (!isRearranged(placed, lines.length)) return placed.map(({ line }) => line);
  const parents = parentIndexes(lines.map(linkOf));
  const ancestorOf = createAncestry(parents, new Set(placed.map(({ origin }) => origin)));
  let lastId: string | undefined;
  let lastOrigin = -1;
  let isBehindNew = false;
  const linked = placed.map(({ line, origin }): Linked => {
    const link = linkOf(line);
    if (link === undefined) return { line, place: "free" };
    if (origin !== -1 && !isLive[origin]) return { line, place: "other" };
    const isMoved = origin !== -1 && origin < lastOrigin;
    const ancestor = origin === -1 ? -1 : ancestorOf(origin);
    const parent =
      origin === -1 || isMoved || isBehindNew
        ? lastId
        : ancestor === -1
          ? undefined
          : linkOf(lines[ancestor])?.id;
    isBehindNew = origin === -1 || isMoved;
    lastId = link.id;
    if (origin > lastOrigin) lastOrigin = origin;
    return {
      line: parent === link.parent ? line : withParent(line as object, parent),
      place: link.isLeaf ? "leaf" : "live",
    };
  });
  return ordered(linked);
}

interface Linked {
  readonly line: unknown;
  readonly place: "free" | "other" | "live" | "leaf";
}

function isRearranged(placed: readonly PlacedLine[], count: number): boolean {
  return placed.length !== count || placed.some(({ origin }, index) => origin !== index);
}

/** The parent of each line as an index; for one that is not in the file the line before. */
function parentIndexes(links: readonly (LineLink | undefined)[]): readonly number[] {
  const indexById = new Map<string, number>();
  for (const [index, link] of links.entries())
    if (link !== undefined && !indexById.has(link.id)) indexById.set(link.id, index);
  let last = -1;
  return links.map((link, index) => {
    const before = last;
    if (link === undefined) return -1;
    last = index;
    return link.parent === undefined ? -1 : (indexById.get(link.parent) ?? before);
  });
}

/** The nearest ancestor that stayed, for any line; each way is walked once. */
function createAncestry(parents: readonly number[], stayed: ReadonlySet<number>): (line: number) => number {
  const found = new Map<number, number>();
  return (line) => {
    const way: number[] = [];
    let index = parents[line] ?? -1;
    while (index !== -1 && !stayed.has(index) && !found.has(index)) {
      // A file whose lines are each other's parents leads nowhere.
      found.set(index, -1);
      way.push(index);
      index = parents[index] ?? -1;
    }
    const nearest = index !== -1 && stayed.has(index) ? index : (found.get(index) ?? -1);
    for (const each of way) found.set(each, nearest);
    return nearest;
  };
}

function ordered(linked: readonly Linked[]): readonly unknown[] {
  const newest = linked.findLastIndex(({ place }) => place === "leaf");
  const isOtherNewer = linked.some(({ place }, index) => place === "other" && index > newest);
  if (!isOtherNewer) return linked.map(({ line }) => line);
  // Without a live line the newest of another branch would be taken for the conversation.
  const others = newest === -1 ? [] : linked.filter(({ place }) => place === "other");
  const first = linked.findIndex(({ place }) => place === "live" || place === "leaf");
  const rest = linked.map((each, index) => ({ each, index })).filter(({ each }) => each.place !== "other");
  return rest.flatMap(({ each, index }) =>
    index === first ? [...others.map(({ line }) => line), each.line] : [each.line],
  );
}
