import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import { collectWindow, type WindowLimits } from "../../lines/decode-lines.ts";
import {
  type CreateContext,
  dateOf,
  type LineFormat,
  type NextPiece,
  type PlacedLine,
  type ResultPiece,
} from "../../lines/line-format.ts";
import { noteOfMessage, partNote, readNote, visibleMessage, withNote } from "../../lines/line-note.ts";
import { relink } from "../../lines/line-tree.ts";
import { resultPart, resultPieces, writeContent } from "../../lines/pieces.ts";
import type { LineCollector } from "../../lines/read-json-lines.ts";
import { anthropicAdapter } from "../../wires/anthropic/anthropic.ts";
import { liveLines, readClaudeCodeLines, readNode, tailHead } from "./read-claude-code-lines.ts";

/** The lines of a Claude Code session file, each parsed. Lines and fields that are not understood are kept as they are. */
export type ClaudeCodeWire = readonly unknown[];

/** Claude Code's session files: the live branch, with its compactions; sub-agents and rewound branches stay in the file. */
export const claudeCode: Format<ClaudeCodeWire> = /* @__PURE__ */ createLineFormat(
  /* @__PURE__ */ lineFormat(),
);

/** Collects a session in the memory of its window. */
export function collectClaudeCodeWindow(limits?: WindowLimits): LineCollector {
  return collectWindow(
    {
      ...lineFormat(),
      slim,
      liveLines,
      headsOf: () => [],
      isCompaction: (line) => asObject(line).subtype === "compact_boundary",
      linkOf(line) {
        const { uuid, parentUuid } = asObject(line);
        return { id: asString(uuid), parent: asString(parentUuid) };
      },
    },
    limits,
  );
}

function lineFormat(): LineFormat<ClaudeCodeWire> {
  return {
    name: "claude-code",
    open: asArray,
    read: readClaudeCodeLines,
    write: writeLine,
    create: createLines,
    answer: answerLines,
    close: closeLines,
  };
}

/** The agent's own copies of outputs are as large as the conversation. */
function slim(line: unknown): unknown {
  const { toolUseResult, data, ...rest } = asObject(line);
  return toolUseResult === undefined && data === undefined ? line : rest;
}

/** A line with other pieces. The agent's own copy of an output is dropped when the output changes. */
function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const { toolUseResult, ...rest } = asObject(line);
  // A boundary has no content of its own.
  if (rest.message === undefined) return rest;
  const isResultKept = pieces.every(({ was, now }) => was.half !== "result" || was === now);
  const isResultThere = pieces.some(({ was }) => was.half === "result");
  const whole =
    toolUseResult !== undefined && isResultKept && isResultThere ? { ...rest, toolUseResult } : rest;
  const message = asObject(rest.message);
  return { ...whole, message: { ...message, content: writeContent(message.content, pieces, writeBlock) } };
}

/** Lines for new messages. A compaction is the agent's own pair of lines: the boundary, and the summary in the user's name. */
function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return messages.flatMap((hidden) => {
    const message = visibleMessage(hidden);
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
      return [withNote({ ...boundary, level: "info", compactMetadata }, noteOfMessage(message))];
    }
    const parts = message.parts.filter((part) => newBlock(part) !== undefined);
    const content = parts.map((part) => newBlock(part));
    const note = noteOfMessage({ ...message, parts });
    const results = answerLines(resultPieces(parts), context);
    if (message.role === "assistant" && message.summary !== true) {
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
      return [withNote({ ...base, type: "assistant", message: body }, note), ...results];
    }
    const summary =
      message.summary === true ? { isVisibleInTranscriptOnly: true, isCompactSummary: true } : {};
    const line = { ...base, type: "user", message: { role: "user", content }, ...summary };
    return [withNote(line, note), ...results];
  });
}

/** One line for each result, as the agent writes them. */
function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map((result) => ({
    ...baseOf(context, `${result.callId}~result`, context.at),
    type: "user",
    message: { role: "user", content: [newResult(result)] },
  }));
}

/** The lines with a complete chain of parents, without records of what was sent: they repeat what an edit has changed. */
function closeLines(lines: readonly unknown[], all: readonly PlacedLine[]): readonly unknown[] {
  const isSubAgent = isOfSubAgent(lines);
  const placed = withTails(
    lines,
    all.filter(({ line }) => !isRequestRecord(line)),
  );
  const linked = relink({
    lines,
    placed,
    isLive: liveLines,
    linkOf: (line) => {
      const { link, isSidechain } = readNode(line);
      return isSidechain && !isSubAgent ? undefined : link;
    },
    withParent: (line, parent) =>
      asObject(line).subtype === "compact_boundary"
        ? omitUndefined({ ...line, parentUuid: null, logicalParentUuid: parent })
        : { ...line, parentUuid: parent ?? null },
  });
  // Without a main conversation a sidechain would be read as one.
  return !isSubAgent && isOfSubAgent(linked)
    ? linked.filter((line) => asObject(line).isSidechain !== true)
    : linked;
}

/** True for `api-request` and what belongs to it: the requests of the session, in which every message stands again. */
function isRequestRecord(line: unknown): boolean {
  return asString(asObject(line).type)?.startsWith("api-request") === true;
}

/** A compaction whose tail has lost its first message notes which one that was. */
function withTails(lines: readonly unknown[], placed: readonly PlacedLine[]): readonly PlacedLine[] {
  const left = new Set(placed.map(({ line }) => asObject(line).uuid));
  const hasLost = ({ line }: PlacedLine): boolean => {
    const head = tailHead(asObject(line));
    return head !== undefined && !left.has(head);
  };
  if (!placed.some(hasLost)) return placed;
  const readings = readClaudeCodeLines(lines);
  return placed.map((each) => {
    const piece = hasLost(each) ? readings[each.origin]?.[0]?.pieces[0] : undefined;
    if (piece?.half !== "whole" || piece.part.type !== "compaction") return each;
    const note = readNote(each.line);
    const parts = { ...note?.parts, "0/0": { ...partNote(piece.part), ...note?.parts?.["0/0"] } };
    return { ...each, line: withNote(asObject(each.line), { ...note, parts }) };
  });
}

/** The fields that every line has, copied from the newest line. */
function baseOf({ lines, at }: CreateContext, uuid: string, createdAt: number | undefined): UnknownObject {
  const sample = asObject(lines.findLast((line) => asString(asObject(line).sessionId) !== undefined));
  const { userType, cwd, sessionId, version, gitBranch } = sample;
  return omitUndefined({
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
    const { type, isSidechain } = asObject(line);
    if (type !== "user" && type !== "assistant") continue;
    if (isSidechain !== true) return false;
    isAny = true;
  }
  return isAny;
}

function writeBlock({ was, now }: NextPiece, block: UnknownObject): UnknownObject | undefined {
  if (now.half === "result") {
    if (was.half !== "result") return newResult(now);
    const before = resultPart(was);
    const result = anthropicAdapter.writeResult(resultPart(now), { role: "user", before, value: block });
    return { ...result, tool_use_id: now.callId };
  }
  if (now.half === "call" && was.half === "call") {
    const call = anthropicAdapter.writeCall(now.part, { role: "assistant", value: block });
    return { ...call, id: now.part.callId };
  }
  const isSameType = was.half === "whole" && was.part.type === now.part.type;
  return newBlock(now.part, isSameType ? block : undefined);
}

/** A block for a part; undefined for one that the API cannot take. */
function newBlock(part: Part, value?: UnknownObject): UnknownObject | undefined {
  if (part.type !== "tool")
    return anthropicAdapter.writePart(part, { role: "user", ...(value && { value }) });
  return { ...anthropicAdapter.writeCall(part, { role: "assistant" }), id: part.callId };
}

function newResult(piece: ResultPiece): UnknownObject {
  return { ...anthropicAdapter.writeResult(resultPart(piece), { role: "user" }), tool_use_id: piece.callId };
}
