import { type Problem, show, throwProblems } from "../text/check.ts";
import { asObject, isObject } from "../text/json.ts";
import type { Transcript } from "./message.ts";

/**
 * Throws when a list is not a transcript, with what is wrong with each message and, where the messages are those of a
 * provider or a program, the format that reads them.
 */
export function checkTranscript(messages: Transcript, name = "messages"): void {
  const problems = Array.isArray(messages)
    ? messages.flatMap((message, index) =>
        hasMessageFields(message) ? [] : [problemOf(message, [name, String(index)])],
      )
    : [problemOf(messages, [name])];
  if (problems.length > 0) throwProblems(problems.slice(0, MAX_PROBLEMS));
}

/** Throws when a message is one of a provider or a program, and names the format that reads it. */
export function refuseForeign(message: unknown, name: string): void {
  if (!hasMessageFields(message) && readBy(message) !== undefined)
    throwProblems([problemOf(message, [name])]);
}

/** Throws when a list is given where one message is taken: decoded messages come as a list. */
export function refuseList(message: unknown): void {
  if (!Array.isArray(message)) return;
  const text = `message is a list of ${message.length}; give the whole conversation to observe, or one message of it`;
  throwProblems([{ path: ["message"], text }]);
}

/** True for a value that has what every message has; its parts may be anything. */
export function hasMessageFields(
  value: unknown,
): value is Readonly<Record<string, unknown>> & { readonly parts: readonly unknown[] } {
  return (
    isObject(value) &&
    typeof value.id === "string" &&
    typeof value.role === "string" &&
    Array.isArray(value.parts)
  );
}

/** A conversation of a thousand foreign messages has one problem, not a thousand. */
const MAX_PROBLEMS = 3;

function problemOf(value: unknown, path: readonly string[]): Problem {
  const formats = readBy(value);
  const advice = isSession(value)
    ? "give what its projection() gives"
    : formats === undefined
      ? "give a transcript, whose messages have id, role and parts: a format of carryover/formats reads one"
      : `read it first with ${formats} of carryover/formats, which gives a transcript`;
  return { path, text: `${path.join(".")} is ${describe(value)}; ${advice}` };
}

function describe(value: unknown): string {
  if (!isObject(value)) return show(value);
  const keys = Object.keys(value).slice(0, 6).join(", ");
  return keys === "" ? "an empty object" : `an object with ${keys}`;
}

/** Somebody gave the session itself. */
function isSession(value: unknown): boolean {
  return typeof asObject(value).projection === "function";
}

/** The formats that a value may be in, by names that only they use; undefined when nothing is recognized. */
function readBy(value: unknown): string | undefined {
  if (Array.isArray(value)) return undefined;
  const { role, content, parts, info, type, message, messages, contents, input, tool_calls } =
    asObject(value);
  if (isObject(info) && Array.isArray(parts)) return "opencode.decode([…])";
  if (Array.isArray(messages)) return "anthropic.decode(request) or openaiChat.decode(request)";
  if (Array.isArray(contents)) return "gemini.decode(request)";
  if (Array.isArray(input)) return "openaiResponses.decode(request)";
  if (isObject(message) && typeof type === "string") return "claudeCode.decode(lines) or pi.decode(lines)";
  if (typeof role !== "string") return typeof type === "string" && RESPONSES.test(type) ? BY_ITEM : undefined;
  if (role === "model" || (Array.isArray(parts) && asObject(value).id === undefined))
    return "gemini.decode([…])";
  if (tool_calls !== undefined || role === "developer" || asObject(value).tool_call_id !== undefined)
    return "openaiChat.decode([…])";
  if (content === undefined) return undefined;
  const types = (Array.isArray(content) ? content : []).map((block) => String(asObject(block).type));
  if (types.some((each) => each.startsWith("tool_"))) return "anthropic.decode([…])";
  if (types.some((each) => each.startsWith("tool-"))) return "aiSdk.decode([…])";
  if (types.some((each) => each.startsWith("input_") || each.startsWith("output_"))) return BY_ITEM;
  return "aiSdk.decode([…]), anthropic.decode([…]) or openaiChat.decode([…])";
}

const BY_ITEM = "openaiResponses.decode([…])";
const RESPONSES = /^(?:message|function_call|function_call_output|reasoning|item_reference)$/;
