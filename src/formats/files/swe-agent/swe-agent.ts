import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { outcomeText } from "../../../transcript/content.ts";
import type { Format } from "../../../transcript/format.ts";
import type { Message } from "../../../transcript/message.ts";
import type { ToolPart } from "../../../transcript/part.ts";
import { createLineFormat } from "../../lines/create-line-format.ts";
import type { CreateContext, NextPiece, PlacedLine, ResultPiece } from "../../lines/line-format.ts";
import { noteOfMessage, visibleMessage, withNote } from "../../lines/line-note.ts";
import {
  argumentsText,
  partText,
  pieceText,
  resultPieces,
  textsOf,
  writeContent,
} from "../../lines/pieces.ts";
import { answeredBy, isStep, readSweAgentLines, textPieces } from "./read-swe-agent-lines.ts";

/** What SWE-agent writes about a run. */
export interface SweAgentWire {
  readonly history?: unknown;
  readonly trajectory?: unknown;
  readonly [field: string]: unknown;
}

/** SWE-agent's trajectories, read from their history; a step whose message was edited leaves the trajectory. */
export const sweAgent: Format<SweAgentWire> = /* @__PURE__ */ createLineFormat<SweAgentWire>({
  name: "swe-agent",
  open: (wire) => [...asArray(asObject(wire).history), ...asArray(asObject(wire).trajectory)],
  read: readSweAgentLines,
  write: writeLine,
  create: createLines,
  answer: answerLines,
  close: closeRun,
});

function closeRun(wire: SweAgentWire, placed: readonly PlacedLine[]): SweAgentWire {
  const count = asArray(wire.history).length;
  const entries = placed.filter(({ origin }) => origin < count);
  const steps = placed.filter(({ origin }) => origin >= count);
  const before = answeredEntries(asArray(wire.history));
  const now = answeredEntries(entries.map(({ line }) => line));
  return {
    ...wire,
    history: entries.map(({ line, origin }, index) => {
      const answers = now[index];
      if (answers === undefined || answers.callId === answeredBy(asObject(line))) return line;
      // Without the entry between them, another's text would be read as the observation.
      return entries[answers.entry]?.origin === before[origin]?.entry ? line : notAnObservation(line);
    }),
    ...(wire.trajectory === undefined ? {} : { trajectory: steps.map(({ line }) => line) }),
  };
}

interface Answered {
  readonly callId: string;
  /** The index of the entry that calls; -1 when none does. */
  readonly entry: number;
}

/** For each entry that is a result, the call that it answers, which is in the newest entry of that id. */
function answeredEntries(history: readonly unknown[]): readonly (Answered | undefined)[] {
  const callers = new Map<string, number>();
  return readSweAgentLines(history).map((readings, index) => {
    for (const piece of readings[0]?.pieces ?? []) {
      if (piece.half === "call") callers.set(piece.part.callId, index);
      if (piece.half === "result") return { callId: piece.callId, entry: callers.get(piece.callId) ?? -1 };
    }
    return undefined;
  });
}

function notAnObservation(line: unknown): object {
  const { carryover } = asObject(line);
  return { ...asObject(line), carryover: { ...asObject(carryover), observes: false } };
}

/** An entry of the history with other pieces. */
function writeLine(line: unknown, pieces: readonly NextPiece[]): object {
  const entry = asObject(line);
  if (isStep(entry)) return writeStep(entry, pieces);
  const [only] = pieces;
  if (only?.now.half === "result") {
    const named = "tool_call_ids" in entry ? { tool_call_ids: [only.now.callId] } : {};
    return { ...entry, ...named, content: outcomeText(only.now.outcome) };
  }
  if (entry.role === "assistant") return writeAction(entry, pieces);
  if (only?.was.half === "result") {
    const { tool_call_ids: _, ...rest } = entry;
    return { ...rest, role: "user", content: textOf(pieces) };
  }
  if (!Array.isArray(entry.content)) return { ...entry, content: textOf(pieces) };
  const text = ({ now }: NextPiece) => ({ type: "text", text: pieceText(now) });
  return { ...entry, content: writeContent(entry.content, pieces, text) };
}

function writeStep(step: UnknownObject, pieces: readonly NextPiece[]): object {
  const parts = pieces.flatMap(({ now }) => (now.half === "whole" ? [now.part] : []));
  const call = parts.find((part) => part.type === "tool");
  const thought = textsOf(pieces).join("\n\n");
  const carryover = { ...asObject(step.carryover), ...(call && { callId: call.callId }) };
  const action = call === undefined ? "" : commandOf(call);
  const observation = call === undefined ? "" : outcomeText(call.outcome);
  return { ...step, thought, action, observation, response: thought, carryover };
}

/** An action's content is what it thought and, in histories without named calls, the action itself. */
function writeAction(entry: UnknownObject, pieces: readonly NextPiece[]): object {
  const calls = pieces.flatMap(({ index, was, now }) =>
    now.half === "call" ? [{ was, now, part: now.part, index }] : [],
  );
  const texts = pieces.filter(({ now }) => now.half !== "call");
  const isTextSame = texts.every(({ was, now }) => was === now) && texts.length > 0;
  const thought = isTextSame ? asString(entry.thought) : textOf(texts);
  const { action: _, tool_calls: __, thought: ___, ...rest } = entry;
  const named = asArray(entry.tool_calls).length > 0 ? asArray(entry.tool_calls) : undefined;
  const [first] = calls;
  if (first === undefined) return { ...rest, content: textOf(texts) };
  const action = first.was === first.now ? asString(entry.action) : commandOf(first.part);
  if (named === undefined) {
    const carryover = { ...asObject(entry.carryover), callId: first.part.callId };
    const content = `${thought ?? ""}\n\`\`\`\n${action ?? ""}\n\`\`\``;
    return { ...rest, thought: thought ?? "", action, content, carryover };
  }
  const firstCall = textPieces(entry).length;
  const kept = calls.map(({ was, now, part, index }) => {
    const before: unknown = named[index - firstCall];
    return was === now ? before : { ...asObject(before), id: part.callId, function: calledOf(part) };
  });
  return omitUndefined({ ...rest, content: thought ?? "", thought: thought ?? "", action, tool_calls: kept });
}

/** Entries for new messages. */
function createLines(messages: readonly Message[], context: CreateContext): readonly object[] {
  return messages.map(visibleMessage).flatMap((message) => {
    const calls = message.parts.filter((part) => part.type === "tool");
    const texts = message.parts.filter((part) => part.type !== "tool");
    const content = texts.map(partText);
    const entry = omitUndefined({
      role: message.role === "assistant" || message.role === "system" ? message.role : "user",
      content: content.length === 1 ? content[0] : content.map((text) => ({ type: "text", text })),
      tool_calls:
        calls.length === 0
          ? undefined
          : calls.map((part) => ({ id: part.callId, type: "function", function: calledOf(part) })),
      agent: agentOf(context),
    });
    const note = noteOfMessage({ ...message, parts: [...texts, ...calls] });
    return [withNote(entry, note), ...answerLines(resultPieces(calls), context)];
  });
}

/** An observation for each result. */
function answerLines(results: readonly ResultPiece[], context: CreateContext): readonly object[] {
  return results.map(({ callId, outcome }) => ({
    role: "tool",
    content: outcomeText(outcome),
    agent: agentOf(context),
    message_type: "observation",
    tool_call_ids: [callId],
  }));
}

function agentOf({ lines }: CreateContext): string {
  for (const line of lines) {
    const agent = asString(asObject(line).agent);
    if (agent !== undefined) return agent;
  }
  return "main";
}

function calledOf({ tool, input }: ToolPart): UnknownObject {
  return { name: tool, arguments: argumentsText(input) };
}

function commandOf({ input }: ToolPart): string {
  return asString(asObject(input).command) ?? JSON.stringify(input ?? {});
}

function textOf(pieces: readonly NextPiece[]): string {
  return pieces.map(({ now }) => pieceText(now)).join("\n\n");
}
