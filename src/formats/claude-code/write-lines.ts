import type { Message } from "../../transcript/message.ts";
import { compact, type Fields, fields, stringField } from "../fields.ts";
import { type LineNote, withNote } from "../transcript-file/note.ts";
import { ownNote, shownMessage } from "../transcript-file/own-note.ts";
import {
  type CreateContext,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
  resultPieces,
} from "../transcript-file/piece.ts";
import { relink } from "../transcript-file/relink.ts";
import { dateOf } from "../transcript-file/time-of.ts";
import { liveLines, skeletonOf } from "./live-lines.ts";
import { newBlock, newResult, writableParts, writeBlocks } from "./write-blocks.ts";

/** A line with other pieces. What the agent keeps of an output beside the message leaves with the output. */
export function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const { toolUseResult, ...rest } = fields(line);
  // Of a boundary there is nothing to change but what is noted.
  if (rest.message === undefined) return rest;
  const isResultKept = pieces.every(({ was, now }) => was.half !== "result" || was === now);
  const isResultThere = pieces.some(({ was }) => was.half === "result");
  const whole =
    toolUseResult !== undefined && isResultKept && isResultThere ? { ...rest, toolUseResult } : rest;
  const message = fields(rest.message);
  return { ...whole, message: { ...message, content: writeBlocks(message.content, pieces) } };
}

/** Lines for new messages. A compaction is the agent's own pair of lines: the boundary, and the summary in the user's name. */
export function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return messages.flatMap((hidden) => {
    const message = shownMessage(hidden);
    const base = baseOf(context, message.id, message.createdAt);
    const marker = message.parts.find((part) => part.type === "compaction");
    if (marker !== undefined && message.parts.length === 1) {
      const compactMetadata = { trigger: marker.trigger, preTokens: 0 };
      const boundary = {
        ...base,
        type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
      };
      return [withNote({ ...boundary, level: "info", compactMetadata }, ownNote(message))];
    }
    const parts = writableParts(message);
    const content = parts.map(newBlock);
    const note = ownNote({ ...message, parts });
    const results = answerLines(resultPieces(parts), context);
    if (message.role === "assistant" && message.summary !== true) {
      return [assistantLine({ base, message, content, note }), ...results];
    }
    const summary =
      message.summary === true ? { isVisibleInTranscriptOnly: true, isCompactSummary: true } : {};
    const line = { ...base, type: "user", message: { role: "user", content }, ...summary };
    return [withNote(line, note), ...results];
  });
}

/** One line for each result, as the agent writes them. */
export function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map((result) => ({
    ...baseOf(context, `${result.callId}~result`, context.at),
    type: "user",
    message: { role: "user", content: [newResult(result)] },
  }));
}

/** The lines with their chain of parents whole. */
export function closeLines(lines: readonly unknown[], placed: readonly PlacedLine[]): readonly unknown[] {
  const isSubAgent = isOfSubAgent(lines);
  const linked = relink({
    lines,
    placed,
    isLive: liveLines,
    linkOf: (line) => {
      const { link, isSidechain } = skeletonOf(line);
      return isSidechain && !isSubAgent ? undefined : link;
    },
    withParent: (line, parent) =>
      fields(line).subtype === "compact_boundary"
        ? compact({ ...line, parentUuid: null, logicalParentUuid: parent })
        : { ...line, parentUuid: parent ?? null },
  });
  // Without the main conversation a sidechain would be taken for it.
  return !isSubAgent && isOfSubAgent(linked)
    ? linked.filter((line) => fields(line).isSidechain !== true)
    : linked;
}

interface AssistantLine {
  readonly base: Fields;
  readonly message: Message;
  readonly content: readonly unknown[];
  readonly note: LineNote;
}

function assistantLine({ base, message, content, note }: AssistantLine): object {
  const body = {
    id: message.id,
    type: "message",
    role: "assistant",
    model: message.model?.id ?? "unknown",
    content,
    stop_reason: message.finish ?? null,
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  return withNote({ ...base, type: "assistant", message: body }, note);
}

/** What every line of the file says, taken from the newest that says it. */
function baseOf({ lines, at }: CreateContext, uuid: string, createdAt: number | undefined): Fields {
  const sample = fields(lines.findLast((line) => stringField(fields(line).sessionId) !== undefined));
  const { userType, cwd, sessionId, version, gitBranch } = sample;
  return compact({
    parentUuid: null,
    isSidechain: isOfSubAgent(lines),
    userType: userType ?? "external",
    cwd,
    sessionId,
    version,
    gitBranch,
    uuid,
    timestamp: dateOf(createdAt ?? at),
  });
}

/** True for the file of a sub-agent, in which every message is of its sidechain. */
function isOfSubAgent(lines: readonly unknown[]): boolean {
  let isAny = false;
  for (const line of lines) {
    const { type, isSidechain } = fields(line);
    if (type !== "user" && type !== "assistant") continue;
    if (isSidechain !== true) return false;
    isAny = true;
  }
  return isAny;
}
