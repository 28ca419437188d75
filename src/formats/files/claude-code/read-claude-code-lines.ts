import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import type { CompactionPart } from "../../../transcript/part.ts";
import { createOpenCalls } from "../../content/call-ids.ts";
import { readUsage, type UsageNames } from "../../content/usage.ts";
import {
  type LinePiece,
  type LineReading,
  type MessageHead,
  NO_READINGS,
  summaryHead,
  timeOf,
  userHead,
} from "../../lines/line-format.ts";
import { collectBranch, type LineLink, liveBranch } from "../../lines/line-tree.ts";
import { asSynthetic, callPiece, opaquePiece, wholePiece } from "../../lines/pieces.ts";
import type { LineCollector } from "../../lines/read-json-lines.ts";
import { readAnthropicMessage } from "../../wires/anthropic/read-message.ts";

/** What each line of a session file gives to the conversation. */
export function readClaudeCodeLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const isLive = liveLines(lines);
  const keyById = new Map<string, string>();
  const tails = tailKeys(lines);
  return lines.map((line, index) => {
    const uuid = asString(asObject(line).uuid) ?? "";
    const repeated = keyById.get(uuid);
    if (repeated !== undefined) return [{ key: repeated, head: { role: "user" }, pieces: [], repeats: true }];
    const reading = isLive[index] ? readLine(asObject(line), index, tails) : undefined;
    if (reading === undefined) return NO_READINGS;
    if (uuid !== "") keyById.set(uuid, reading.key);
    return [reading];
  });
}

function readLine(
  line: UnknownObject,
  index: number,
  tails: ReadonlyMap<string, string>,
): LineReading | undefined {
  const key = asString(line.uuid) ?? `line-${index + 1}`;
  const message = asObject(line.message);
  const createdAt = timeOf(line.timestamp);
  if (line.type === "system" && line.subtype === "compact_boundary") {
    const trigger = asObject(line.compactMetadata).trigger === "manual" ? "manual" : "auto";
    const tailStartId = tails.get(tailHead(line) ?? "");
    const marker: CompactionPart = {
      type: "compaction",
      trigger,
      ...(tailStartId !== undefined && { tailStartId }),
    };
    return { key, head: userHead(createdAt), pieces: [wholePiece(marker)] };
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
    return { key, head: summaryHead(createdAt), pieces: pieces.map(asSynthetic) };
  }
  return { key, head: userHead(createdAt), pieces: isTyped(line) ? pieces : pieces.map(asSynthetic) };
}

/** False for what the agent says in the user's name: of itself, of work in the background, of other agents. */
function isTyped({ isMeta, origin, message }: UnknownObject): boolean {
  if (isMeta === true) return false;
  const kind = asString(asObject(origin).kind);
  if (kind !== undefined) return !NOT_TYPED.has(kind);
  return asString(asObject(message).content)?.startsWith("<task-notification>") !== true;
}

const NOT_TYPED: ReadonlySet<string> = new Set([
  "task-notification",
  "auto-continuation",
  "plugin",
  "peer",
  "coordinator",
  "observer-activity",
]);

/** The first line of what a compaction keeps word for word behind its summary. It stays where it was in the file. */
export function tailHead(boundary: UnknownObject): string | undefined {
  return asString(asObject(asObject(boundary.compactMetadata).preservedSegment).headUuid);
}

/** By the first lines of such tails: the messages that they are of. */
function tailKeys(lines: readonly unknown[]): ReadonlyMap<string, string> {
  const heads = new Set(lines.flatMap((line) => tailHead(asObject(line)) ?? []));
  if (heads.size === 0) return new Map();
  return new Map(
    lines.map(asObject).flatMap(({ uuid, type, message }) => {
      if (typeof uuid !== "string" || !heads.has(uuid)) return [];
      return [[uuid, (type === "assistant" && asString(asObject(message).id)) || uuid] as const];
    }),
  );
}

function assistantHead(message: UnknownObject, createdAt: number | undefined): MessageHead {
  const model = asString(message.model);
  return omitUndefined({
    role: "assistant",
    createdAt,
    finish: asString(message.stop_reason),
    usage: readUsage(message.usage, USAGE),
    model: model === undefined ? undefined : { provider: "anthropic", id: model },
  });
}

const USAGE: UsageNames = {
  input: "input_tokens",
  output: "output_tokens",
  cacheRead: "cache_read_input_tokens",
  cacheWrite: "cache_creation_input_tokens",
};

/** The pieces of a message's content, which is that of Anthropic's own messages. */
function readBlocks(content: unknown): readonly LinePiece[] {
  const named = Array.isArray(content) ? content.map(withToolNames) : content;
  return readAnthropicMessage({ role: "", content: named }).blocks.map((block): LinePiece => {
    if (block.type === "part") return wholePiece(block.part);
    const { callId } = block;
    if (callId === undefined) return opaquePiece(block.type);
    if (block.type === "call") return callPiece(callId, block.tool, block.input);
    return { half: "result", callId, outcome: block.outcome };
  });
}

/** What a search for tools has found is a list of their names. */
function withToolNames(block: unknown): unknown {
  const { type, content } = asObject(block);
  if (type !== "tool_result" || !Array.isArray(content)) return block;
  const isName = (each: unknown): boolean => asObject(each).type === "tool_reference";
  if (!content.some(isName)) return block;
  const name = (each: unknown) => ({ type: "text", text: asString(asObject(each).tool_name) ?? "" });
  return { ...asObject(block), content: content.map((each) => (isName(each) ? name(each) : each)) };
}

/** For each line whether it is part of the conversation that the agent would go on with. */
export function liveLines(lines: readonly unknown[]): readonly boolean[] {
  return liveNodes(lines.map(readNode));
}

/** Collects the lines of the live branch. */
export function collectClaudeCode(): LineCollector {
  return collectBranch({
    nodeOf: readNode,
    mayCount(line) {
      const { type, subtype } = asObject(line);
      return type === "user" || type === "assistant" || subtype === "compact_boundary";
    },
    liveNodes,
  });
}

/** What must be known of a line to tell whether it is live. */
interface LineNode {
  readonly link: LineLink | undefined;
  readonly isSidechain: boolean;
  /** The assistant message that the line is a part of. */
  readonly messageId: string | undefined;
  readonly callIds: readonly string[];
  readonly resultIds: readonly string[];
}

/** Reads that from a line. */
export function readNode(line: unknown): LineNode {
  const { type, subtype, uuid, parentUuid, logicalParentUuid, isSidechain, message } = asObject(line);
  const { id, content } = asObject(message);
  const isMessage = type === "user" || type === "assistant";
  const blocks = isMessage ? asArray(content).map(asObject) : [];
  return {
    link:
      typeof uuid === "string"
        ? {
            id: uuid,
            // A compaction starts a new root and names its logical parent.
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
 * Like `liveLines`. A live assistant message brings all lines of its id and all results of its calls: the lines
 * of parallel calls are siblings in the tree, so that no single path has them all.
 */
function liveNodes(nodes: readonly LineNode[]): readonly boolean[] {
  const isMain = (node: LineNode): boolean => !node.isSidechain;
  // The file of a sub-agent has nothing but its sidechain.
  const hasMain = nodes.some((node) => node.link?.isLeaf === true && isMain(node));
  const mayCount = (node: LineNode): boolean => !hasMain || isMain(node);
  const { isLive } = liveBranch(nodes.map((each) => (mayCount(each) ? each.link : undefined)));

  const messageIds = new Set<string>();
  for (const [index, { messageId }] of nodes.entries())
    if (isLive[index] && messageId !== undefined) messageIds.add(messageId);
  const seen = new Set<string>();
  const complete = nodes.map((node, index) => {
    const { link, messageId } = node;
    const isRepeated = link !== undefined && seen.has(link.id);
    if (link !== undefined) seen.add(link.id);
    const isOfLiveMessage = messageId !== undefined && messageIds.has(messageId) && mayCount(node);
    return !isRepeated && (isLive[index] === true || isOfLiveMessage);
  });
  const answered = answeredCalls(nodes.filter((_, index) => complete[index]));
  const unanswered = createOpenCalls<string>();
  const answers = (node: LineNode): boolean =>
    mayCount(node) && node.resultIds.filter((id) => unanswered.take(id) !== undefined).length > 0;
  const isCounted = nodes.map((node, index) => {
    const { messageId, callIds } = node;
    if (!complete[index]) return answers(node);
    for (const [place, id] of callIds.entries())
      if (!answered.get(node)?.has(place)) unanswered.add(id, messageId, id);
    return true;
  });
  // A result may stand before its call: both are written at the same moment.
  return nodes.map((node, index) => isCounted[index] === true || answers(node));
}

/** By their place in the line: the calls that have a result among some lines. */
function answeredCalls(nodes: readonly LineNode[]): ReadonlyMap<LineNode, ReadonlySet<number>> {
  const answered = new Map<LineNode, Set<number>>();
  const open = createOpenCalls<() => void>();
  for (const node of nodes) {
    const places = new Set<number>();
    answered.set(node, places);
    for (const [place, id] of node.callIds.entries()) open.add(id, node.messageId, () => places.add(place));
    for (const id of node.resultIds) open.take(id)?.();
  }
  return answered;
}

function idsOf(blocks: readonly UnknownObject[], type: string, field: string): readonly string[] {
  if (blocks.length === 0) return NO_IDS;
  const ids = blocks.flatMap((block) => (block.type === type ? (asString(block[field]) ?? []) : []));
  return ids.length === 0 ? NO_IDS : ids;
}

const NO_IDS: readonly string[] = [];
