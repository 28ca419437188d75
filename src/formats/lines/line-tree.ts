import type { PlacedLine } from "./line-format.ts";
import type { LineCollector } from "./read-json-lines.ts";

/** The place of a line in the tree of a file. */
export interface LineLink {
  readonly id: string;
  /** The line that it follows; undefined when it begins a conversation. */
  readonly parent: string | undefined;
  /** True for a line that can be the newest of a conversation. */
  readonly isLeaf: boolean;
}

/** For each line its predecessor on the way back from the newest line; lines that are not on it have none. */
interface LiveBranch {
  readonly isLive: readonly boolean[];
  /** The index of the line before a live one; -1 before the first. */
  readonly before: readonly number[];
}

/**
 * The branch that ends with the newest line. Where a line names a parent that is not in the file, the branch goes on
 * with the line before it, since other programs cut and join such files.
 */
export function liveBranch(links: readonly (LineLink | undefined)[]): LiveBranch {
  const indexById = new Map<string, number>();
  const linkedBefore: number[] = [];
  let newest = -1;
  let last = -1;
  for (const [index, link] of links.entries()) {
    linkedBefore.push(last);
    if (link === undefined) continue;
    last = index;
    if (link.isLeaf) newest = index;
    if (!indexById.has(link.id)) indexById.set(link.id, index);
  }
  const isLive = links.map(() => false);
  const before = links.map(() => -1);
  let index = newest === -1 ? last : newest;
  while (index !== -1 && isLive[index] === false) {
    isLive[index] = true;
    const parent = links[index]?.parent;
    const next = parent === undefined ? -1 : (indexById.get(parent) ?? linkedBefore[index] ?? -1);
    if (next !== -1 && isLive[next] === true) break;
    before[index] = next;
    index = next;
  }
  return { isLive, before };
}

interface Relink {
  /** The lines as they were. */
  readonly lines: readonly unknown[];
  readonly placed: readonly PlacedLine[];
  readonly linkOf: (line: unknown) => LineLink | undefined;
  /** The line with another parent; undefined begins a conversation. */
  readonly withParent: (line: object, parent: string | undefined) => object;
  /** For each line whether it is part of the conversation. */
  readonly isLive: (lines: readonly unknown[]) => readonly boolean[];
}

/**
 * The lines with a complete chain of parents: a line whose parent was dropped or moved, or that is next to a new one,
 * gets the line before it as parent. Lines of other branches go to the front where they would else be the newest.
 */
export function relink(options: Relink): readonly unknown[] {
  const { lines, placed, isLive } = options;
  if (!isRearranged(placed, lines.length)) return placed.map(({ line }) => line);
  const wasLive = isLive(lines);
  const needed = ordered(chained(options, wasLive, "broken"));
  const isNow = isLive(needed.map(({ line }) => line));
  // Siblings may have lost the parent that joined them: then all lines are chained one after the other.
  const isWhole = needed.every(
    ({ place }, index) => place === "free" || isNow[index] === (place !== "other"),
  );
  const linked = isWhole ? needed : ordered(chained(options, wasLive, "all"));
  return linked.map(({ line }) => line);
}

interface Linked {
  readonly line: unknown;
  readonly id?: string;
  readonly place: "free" | "other" | "live" | "leaf";
}

function chained(
  { lines, placed, linkOf, withParent }: Relink,
  wasLive: readonly boolean[],
  which: "broken" | "all",
): readonly Linked[] {
  const stayed = new Set(placed.flatMap(({ origin }) => linkOf(lines[origin])?.id ?? []));
  let lastId: string | undefined;
  let lastOrigin = -1;
  let isBehindNew = false;
  return placed.map(({ line, origin }): Linked => {
    const link = linkOf(line);
    if (link === undefined) return { line, place: "free" };
    if (origin !== -1 && !wasLive[origin]) return { line, id: link.id, place: "other" };
    const isPlaced = origin === -1 || origin < lastOrigin;
    const isBroken = isPlaced || isBehindNew || (link.parent !== undefined && !stayed.has(link.parent));
    const parent = isBroken || which === "all" ? lastId : link.parent;
    isBehindNew = isPlaced;
    lastId = link.id;
    lastOrigin = Math.max(lastOrigin, origin);
    return {
      line: parent === link.parent ? line : withParent(line as object, parent),
      id: link.id,
      place: link.isLeaf ? "leaf" : "live",
    };
  });
}

function isRearranged(placed: readonly PlacedLine[], count: number): boolean {
  return placed.length !== count || placed.some(({ origin }, index) => origin !== index);
}

function ordered(linked: readonly Linked[]): readonly Linked[] {
  const newest = linked.findLastIndex(({ place }) => place === "leaf");
  if (!linked.some(({ place }, index) => place === "other" && index > newest)) return linked;
  const liveIds = new Set(linked.flatMap(({ id, place }) => (place === "other" ? [] : (id ?? []))));
  // Without a live line the newest of another branch would be taken for the conversation, and of two lines of one id
  // the first counts.
  const others =
    newest === -1 ? [] : linked.filter(({ id, place }) => place === "other" && !liveIds.has(id ?? ""));
  const first = linked.findIndex(({ place }) => place === "live" || place === "leaf");
  return linked.flatMap((each, index) => {
    const own = each.place === "other" ? [] : [each];
    return index === first ? [...others, ...own] : own;
  });
}

interface BranchRule<Node> {
  readonly nodeOf: (line: unknown) => Node;
  /** True for a line that is worth keeping if it turns out to be live. */
  readonly mayCount: (line: unknown) => boolean;
  readonly liveNodes: (nodes: readonly Node[]) => readonly boolean[];
}

/** Keeps the lines of the live branch. Until that is known, of lines that cannot count only their node in the tree is kept. */
export function collectBranch<Node>({ nodeOf, mayCount, liveNodes }: BranchRule<Node>): LineCollector {
  const nodes: Node[] = [];
  const kept: unknown[] = [];
  return {
    take(line) {
      nodes.push(nodeOf(line));
      kept.push(mayCount(line) ? line : undefined);
    },
    lines() {
      const isLive = liveNodes(nodes);
      return kept.filter((line, index) => line !== undefined && isLive[index]);
    },
  };
}
