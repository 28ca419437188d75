import { jsonOrText } from "../../../text/json.ts";
import {
  asArray,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../../text/unknown-value.ts";
import { createIdDeduplicator } from "../../../transcript/message.ts";
import type { ToolOutcome } from "../../../transcript/part.ts";
import { hashEnds } from "../../content/message-id.ts";
import { type CallPiece, type LinePiece, type LineReading, NO_READINGS } from "../../lines/line-format.ts";
import { callPiece, opaquePiece, wholePiece } from "../../lines/pieces.ts";

/** What each entry of a trajectory's history, and then each of its steps, gives to the conversation. */
export function readSweAgentLines(lines: readonly unknown[]): readonly (readonly LineReading[])[] {
  const nameMessage = createIdDeduplicator();
  const actions: Action[] = [];
  const callIds = new Set<string>();
  /** The action that waits for the next observation: it has no id that an observation could name. */
  let openCall: string | undefined;
  const readings = lines.map((line): readonly LineReading[] => {
    const entry = asObject(line);
    if (isStep(entry)) return NO_READINGS;
    const role = asString(entry.role);
    if (role === undefined) return NO_READINGS;
    const key = nameMessage(keyOf(entry));
    if (role === "assistant") {
      const calls = readCalls(entry);
      for (const { part } of calls) callIds.add(part.callId);
      openCall = asArray(entry.tool_calls).length > 0 ? undefined : calls.at(-1)?.part.callId;
      if (entry.is_demo !== true) actions.push({ key, entry });
      return [{ key, head: { role }, pieces: [...textPieces(entry), ...calls] }];
    }
    const named = answeredBy(entry);
    const isOfAction = named === undefined ? isObservation(entry) : mayObserve(entry) && !callIds.has(named);
    const callId = (isOfAction ? openCall : undefined) ?? named;
    openCall = undefined;
    if (callId === undefined) {
      return [{ key, head: { role: role === "tool" ? "user" : role }, pieces: contentPieces(entry) }];
    }
    const outcome = doneWith(textOf(entry.content));
    return [{ key, head: { role: "user" }, pieces: [{ half: "result", callId, outcome }] }];
  });
  const hasHistory = readings.some((ofLine) => ofLine.length > 0);
  return hasHistory ? withSteps(lines, readings, actions) : lines.map(readStep);
}

/** A run of which only the steps were kept: each is an action together with what it gave. */
function readStep(line: unknown, index: number): readonly LineReading[] {
  const step = asObject(line);
  if (!isStep(step)) return NO_READINGS;
  const { thought, action, observation, carryover } = step;
  const callId = asString(asObject(carryover).callId) ?? `step-${index + 1}`;
  const outcome = doneWith(asString(observation) ?? "");
  const call = wholePiece({ type: "tool", callId, tool: "bash", input: { command: action }, outcome });
  const text = asString(thought) ?? "";
  const pieces = text.trim() === "" ? [call] : [wholePiece({ type: "text", text }), call];
  return [{ key: callId, head: { role: "assistant" }, pieces }];
}

function doneWith(output: string): ToolOutcome {
  return { status: "done", output, attachments: [] };
}

interface Action {
  readonly key: string;
  readonly entry: UnknownObject;
}

/** A step repeats an action and its observation; one that matches no action is left alone. */
function withSteps(
  lines: readonly unknown[],
  readings: readonly (readonly LineReading[])[],
  actions: readonly Action[],
): readonly (readonly LineReading[])[] {
  let next = 0;
  return readings.map((ofLine, index) => {
    const step = asObject(lines[index]);
    if (!isStep(step)) return ofLine;
    for (let at = next; at < actions.length; at++) {
      const action = actions[at];
      if (action === undefined || !isSame(step, action.entry)) continue;
      next = at + 1;
      return [{ key: action.key, head: { role: "assistant" }, pieces: [], repeats: true }];
    }
    return ofLine;
  });
}

/** In a history without call ids the user's entry behind an action is its observation, unless noted otherwise. */
function isObservation(entry: UnknownObject): boolean {
  return entry.role === "user" && entry.is_demo !== true && mayObserve(entry);
}

function mayObserve({ carryover }: UnknownObject): boolean {
  return asObject(carryover).observes !== false;
}

/** True for an element of `trajectory`, which has no role. */
export function isStep(entry: UnknownObject): boolean {
  return entry.role === undefined && entry.action !== undefined;
}

function isSame(step: UnknownObject, entry: UnknownObject): boolean {
  return step.action === entry.action && (step.response === entry.content || step.thought === entry.thought);
}

/** The calls that an entry makes: those it names, or else its action as a command of the shell. */
function readCalls(entry: UnknownObject): readonly CallPiece[] {
  const named = asArray(entry.tool_calls).map((value) => {
    const { id, function: called } = asObject(value);
    const { name, arguments: input } = asObject(called);
    return callPiece(asString(id) ?? "", name, jsonOrText(input));
  });
  const action = asString(entry.action) ?? "";
  if (named.length > 0 || action.trim() === "") return named;
  // An edit notes the id, since it may change what the id is derived from.
  const wanted = asString(asObject(entry.carryover).callId) ?? `call-${hashOf([action])}`;
  return [callPiece(wanted, "bash", { command: action })];
}

/** The call that an entry names as the one whose result it is. */
export function answeredBy({ tool_call_ids }: UnknownObject): string | undefined {
  return asString(asArray(tool_call_ids)[0]);
}

/** The text of an action without the action itself, which is its call. */
export function textPieces(entry: UnknownObject): readonly LinePiece[] {
  const { thought } = entry;
  if (entry.action === undefined || typeof thought !== "string") return contentPieces(entry);
  return thought.trim() === "" ? [] : [wholePiece({ type: "text", text: thought })];
}

function contentPieces({ content, is_demo }: UnknownObject): readonly LinePiece[] {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.flatMap((block): readonly LinePiece[] => {
    const text = typeof block === "string" ? block : asString(asObject(block).text);
    if (text === undefined)
      return block === undefined || block === null ? [] : [opaquePiece(asObject(block).type)];
    const synthetic = is_demo === true ? (true as const) : undefined;
    return [wholePiece(omitUndefined({ type: "text" as const, text, synthetic }))];
  });
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return asArray(content)
    .flatMap((block) => (typeof block === "string" ? block : (asString(asObject(block).text) ?? [])))
    .join("\n");
}

/** A key from the content of an entry, since entries have no ids. */
function keyOf({ role, content, action }: UnknownObject): string {
  return `entry-${hashOf([asString(role) ?? "", textOf(content), asString(action) ?? ""])}`;
}

function hashOf(texts: readonly string[]): string {
  let hash: number | undefined;
  for (const text of texts) hash = hashEnds(text, hash);
  return ((hash ?? 0) >>> 0).toString(36);
}
