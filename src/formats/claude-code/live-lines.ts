import { type Fields, fields, stringField } from "../fields.ts";
import { type LineLink, liveBranch } from "../transcript-file/live-branch.ts";

/** For each line whether it is part of the conversation that the agent would go on with. */
export function liveLines(lines: readonly unknown[]): readonly boolean[] {
  return liveFrom(lines.map(skeletonOf));
}

/** What must be known of a line to tell whether it is live. */
export interface Skeleton {
  readonly link: LineLink | undefined;
  readonly isSidechain: boolean;
  /** The assistant message that the line is a part of. */
  readonly messageId: string | undefined;
  readonly callIds: readonly string[];
  readonly resultIds: readonly string[];
}

/** The skeleton of a line. */
export function skeletonOf(line: unknown): Skeleton {
  const { type, subtype, uuid, parentUuid, logicalParentUuid, isSidechain, message } = fields(line);
  const { id, content } = fields(message);
  const isMessage = type === "user" || type === "assistant";
  const blocks: readonly Fields[] = isMessage && Array.isArray(content) ? content.map(fields) : [];
  return {
    link:
      typeof uuid === "string"
        ? {
            id: uuid,
            // A compaction starts a new root and says on the side what it follows.
            parent: stringField(parentUuid) ?? stringField(logicalParentUuid),
            isLeaf: isMessage || subtype === "compact_boundary",
          }
        : undefined,
    isSidechain: isSidechain === true,
    messageId: type === "assistant" ? stringField(id) : undefined,
    callIds: idsOf(blocks, "tool_use", "id"),
    resultIds: idsOf(blocks, "tool_result", "tool_use_id"),
  };
}

/**
 * The same from skeletons. A live assistant message brings all lines of its id and all results of its calls: the lines
 * of parallel calls hang beside each other in the tree, and no single walk meets them all.
 */
export function liveFrom(skeletons: readonly Skeleton[]): readonly boolean[] {
  const isMain = (skeleton: Skeleton): boolean => !skeleton.isSidechain;
  // The file of a sub-agent has nothing but its sidechain.
  const hasMain = skeletons.some((skeleton) => skeleton.link?.isLeaf === true && isMain(skeleton));
  const inPlay = (skeleton: Skeleton): boolean => !hasMain || isMain(skeleton);
  const { isLive } = liveBranch(skeletons.map((each) => (inPlay(each) ? each.link : undefined)));

  const messageIds = new Set<string>();
  for (const [index, { messageId }] of skeletons.entries())
    if (isLive[index] && messageId !== undefined) messageIds.add(messageId);
  const callIds = new Set<string>();
  const seen = new Set<string>();
  const complete = skeletons.map((skeleton, index) => {
    const { link, messageId } = skeleton;
    const isRepeated = link !== undefined && seen.has(link.id);
    if (link !== undefined) seen.add(link.id);
    const isOfLiveMessage = messageId !== undefined && messageIds.has(messageId) && inPlay(skeleton);
    const isIn = !isRepeated && (isLive[index] === true || isOfLiveMessage);
    if (isIn) for (const id of skeleton.callIds) callIds.add(id);
    return isIn;
  });
  const answered = new Set<string>();
  for (const [index, { resultIds }] of skeletons.entries())
    if (complete[index]) for (const id of resultIds) answered.add(id);
  return skeletons.map((skeleton, index) => {
    if (complete[index]) return true;
    const isMissing = skeleton.resultIds.some((id) => callIds.has(id) && !answered.has(id));
    if (!isMissing || !inPlay(skeleton)) return false;
    for (const id of skeleton.resultIds) answered.add(id);
    return true;
  });
}

function idsOf(blocks: readonly Fields[], type: string, field: string): readonly string[] {
  if (blocks.length === 0) return NONE;
  const ids = blocks.flatMap((block) => (block.type === type ? (stringField(block[field]) ?? []) : []));
  return ids.length === 0 ? NONE : ids;
}

const NONE: readonly string[] = [];
