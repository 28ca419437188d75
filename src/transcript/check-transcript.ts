import { type Problem, show, throwProblems } from "../text/check.ts";
import { asObject, isObject } from "../text/unknown-value.ts";
import { detectMessages, detectRequest, type ForeignMessages } from "./foreign-messages.ts";
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

/** Report a few problems: a thousand foreign messages all have the same one. */
const MAX_PROBLEMS = 3;

function problemOf(value: unknown, path: readonly string[]): Problem {
  const formats = readBy(value);
  const advice = isSession(value)
    ? "give what its messages() gives"
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

/** True when the caller passed a session object instead of its messages. */
function isSession(value: unknown): boolean {
  return typeof asObject(value).messages === "function";
}

/** How the formats are called that read a value; undefined when nothing is recognized. */
function readBy(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { messages, message, type, id, parts, info } = value;
  // A message of a transcript in which something is wrong.
  if (id !== undefined && Array.isArray(parts) && !isObject(info)) return undefined;
  // A line of a session file.
  if (isObject(message) && typeof type === "string") return "claudeCode.decode(lines) or pi.decode(lines)";
  const request = detectRequest(value);
  if (Array.isArray(messages) && (request === undefined || request.isPlain))
    return "anthropic.decode(request) or openaiChat.decode(request)";
  if (request !== undefined) return `${decoderOf(request)}(request)`;
  const found = detectMessages([value]);
  if (found?.isPlain) return "aiSdk.decode([…]), anthropic.decode([…]) or openaiChat.decode([…])";
  return found && `${decoderOf(found)}([…])`;
}

function decoderOf({ format }: ForeignMessages): string {
  return `${format.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}.decode`;
}
