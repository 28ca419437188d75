import { asNumber, asObject, asString, omitUndefined, type UnknownObject } from "../../../text/json.ts";
import type { Usage } from "../../../transcript/message.ts";
import { type LinePiece, type LineReading, type MessageHead, timeOf } from "../../lines/line-format.ts";
import { type LineLink, liveBranch } from "../../lines/line-tree.ts";
import { anthropicAdapter } from "../../wires/anthropic/anthropic.ts";

/** What each line of a session file gives to the conversation. */
export function readLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const keyById = new Map<string, string>();
  return lines.map((line, index) => {
    const uuid = asString(asObject(line).uuid) ?? "";
    const repeated = keyById.get(uuid);
    if (repeated !== undefined) return [{ key: repeated, head: { role: "user" }, pieces: [], repeats: true }];
    const reading = isLive[index] ? readLine(asObject(line), index) : undefined;
    if (reading === undefined) return NONE;
    if (uuid !== "") keyById.set(uuid, reading.key);
    return [reading];
  });
}

const NONE: readonly LineReading[] = [];

function readLine(line: UnknownObject, index: number): LineReading | undefined {
  const key = asString(line.uuid) ?? `line-${index + 1}`;
  const message = asObject(line.message);
  const createdAt = timeOf(line.timestamp);
  if (line.type === "system" && line.subtype === "compact_boundary") {
    const trigger = asObject(line.compactMetadata).trigger === "manual" ? "manual" : "auto";
    const pieces: readonly LinePiece[] = [{ half: "whole", part: { type: "compaction", trigger } }];
    return { key, head: omitUndefined({ role: "user", createdAt }), pieces };
  }
  if (line.type === "assistant" && message.content !== undefined) {
    // Errors of the connection are shown to the user and never sent.
    if (message.model === "<synthetic>") return undefined;
    return {
      key: asString(message.id) ?? key,
      head: assistantHead(message, createdAt),
      pieces: readBlocks(message.content),
    };
  }
  if (line.type !== "user" || message.content === undefined) return undefined;
  const pieces = readBlocks(message.content);
  if (line.isCompactSummary === true) {
    const head: MessageHead = omitUndefined({
      role: "assistant",
      createdAt,
      summary: true as const,
      finish: "stop",
    });
    return { key, head, pieces: pieces.map(asSynthetic) };
  }
  const head: MessageHead = omitUndefined({ role: "user", createdAt });
  return { key, head, pieces: line.isMeta === true ? pieces.map(asSynthetic) : pieces };
}

function assistantHead(message: UnknownObject, createdAt: number | undefined): MessageHead {
  const model = asString(message.model);
  return omitUndefined({
    role: "assistant",
    createdAt,
    finish: asString(message.stop_reason),
    usage: readUsage(message.usage),
    model: model === undefined ? undefined : { provider: "anthropic", id: model },
  });
}

function readUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asObject(value);
  return {
    inputTokens: asNumber(usage.input_tokens) ?? 0,
    outputTokens: asNumber(usage.output_tokens) ?? 0,
    reasoningTokens: 0,
    cacheReadTokens: asNumber(usage.cache_read_input_tokens) ?? 0,
    cacheWriteTokens: asNumber(usage.cache_creation_input_tokens) ?? 0,
  };
}

function asSynthetic(piece: LinePiece): LinePiece {
  if (piece.half !== "whole" || piece.part.type !== "text") return piece;
  return { ...piece, part: { ...piece.part, synthetic: true } };
}

/** The pieces of a message's content, which is that of Anthropic's own messages. */
function readBlocks(content: unknown): readonly LinePiece[] {
  return anthropicAdapter.read({ role: "", content }).blocks.map((block): LinePiece => {
    if (block.type === "part") return { half: "whole", part: block.part };
    if (block.callId === undefined) return { half: "whole", part: { type: "opaque", name: block.type } };
    const { callId } = block;
    if (block.type === "result") return { half: "result", callId, outcome: block.outcome };
    const { tool, input } = block;
    return { half: "call", part: { type: "tool", callId, tool, input, outcome: { status: "pending" } } };
  });
}

/** For each line whether it is part of the conversation that the agent would go on with. */
export function liveLines(lines: readonly unknown[]): readonly boolean[] {
  return liveNodes(lines.map(readNode));
}

/** What must be known of a line to tell whether it is live. */
export interface LineNode {
  readonly link: LineLink | undefined;
  readonly isSidechain: boolean;
  /** The assistant message that the line is a part of. */
  readonly messageId: string | undefined;
  readonly callIds: readonly string[];
  readonly resultIds: readonly string[];
}

/** The skeleton of a line. */
export function readNode(line: unknown): LineNode {
  const { type, subtype, uuid, parentUuid, logicalParentUuid, isSidechain, message } = asObject(line);
  const { id, content } = asObject(message);
  const isMessage = type === "user" || type === "assistant";
  const blocks: readonly UnknownObject[] = isMessage && Array.isArray(content) ? content.map(asObject) : [];
  return {
    link:
      typeof uuid === "string"
        ? {
            id: uuid,
            // A compaction starts a new root and says on the side what it follows.
            parent: asString(parentUuid) ?? asString(logicalParentUuid),
            isLeaf: isMessage || subtype === "compact_boundary",
          }
        : undefined,
    isSidechain: isSidechain === true,
    messageId: type === "assistant" ? asString(id) : undefined,
    callIds: idsOf(blocks, "tool_use", "id"),
    resultIds: idsOf(blocks, "tool_result", "tool_use_id"),
  };
}

/**
 * The same from skeletons. A live assistant message brings all lines of its id and all results of its calls: the lines
 * of parallel calls hang beside each other in the tree, and no single walk meets them all.
 */
export function liveNodes(skeletons: readonly LineNode[]): readonly boolean[] {
  const isMain = (skeleton: LineNode): boolean => !skeleton.isSidechain;
  // The file of a sub-agent has nothing but its sidechain.
  const hasMain = skeletons.some((skeleton) => skeleton.link?.isLeaf === true && isMain(skeleton));
  const inPlay = (skeleton: LineNode): boolean => !hasMain || isMain(skeleton);
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

function idsOf(blocks: readonly UnknownObject[], type: string, field: string): readonly string[] {
  if (blocks.length === 0) return NO_IDS;
  const ids = blocks.flatMap((block) => (block.type === type ? (asString(block[field]) ?? []) : []));
  return ids.length === 0 ? NO_IDS : ids;
}

const NO_IDS: readonly string[] = [];
