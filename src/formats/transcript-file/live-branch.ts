/** How a line hangs in the tree of a file. */
export interface LineLink {
  readonly id: string;
  /** The line that it follows; undefined when it begins a conversation. */
  readonly parent: string | undefined;
  /** True for a line that can be the newest of a conversation. */
  readonly isLeaf: boolean;
}

/** For each line its predecessor on the way back from the newest line; lines that are not on it have none. */
export interface LiveBranch {
  readonly isLive: readonly boolean[];
  /** The index of the line before a live one; -1 before the first. */
  readonly before: readonly number[];
}

/**
 * The branch that ends with the newest line. Where a line names a parent that is not in the file, the branch goes on
 * with the line before it: files are cut and joined by other programs, and a walk that stops there loses most of them.
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
