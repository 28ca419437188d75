import { fenceData } from "../text/fence.ts";
import { normalizeText } from "../text/normalize-text.ts";
import { safeJson } from "../text/safe-json.ts";
import { cleanText } from "./clean-text.ts";
import type { Message, Role } from "./message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, outcomeText, type Part, type ToolPart } from "./part.ts";
import { isCleared } from "./tool-results.ts";
import { isVisibleToModel } from "./visibility.ts";

/**
 * A message as text: a newline, a label line, its visible parts. Empty when there is nothing to show.
 * The one way in which transcripts become text; sizes are lengths of this.
 */
export function renderMessage(message: Message): string {
  if (!isVisibleToModel(message)) return "";
  const lines: string[] = [];
  for (const part of message.parts) {
    if (part.agentVisible !== false) renderPart(part, message, lines);
  }
  if (lines.length === 0) return "";
  // Concatenated, not joined: the engine then refers to the texts instead of copying them.
  let text = `\n${label(message.role)}:`;
  for (const line of lines) text += `\n${line}`;
  return text;
}

/** True when a message has something to show, as far as can be told without rendering it. */
export function isRendered(message: Message): boolean {
  return (
    isVisibleToModel(message) && message.parts.some((part) => part.agentVisible !== false && hasContent(part))
  );
}

function hasContent(part: Part): boolean {
  if (part.type === "text") return !part.ignored && !part.own && part.text.trim() !== "";
  if (part.type === "tool") return !part.callMissing || part.outcome.status !== "pending";
  return part.type === "file";
}

/** A way to render that does each message once, for as long as one piece of work needs it. */
export function createRenderer(): (message: Message) => string {
  const done = new Map<Message, string>();
  return (message) => {
    const known = done.get(message);
    if (known !== undefined) return known;
    const text = renderMessage(message);
    done.set(message, text);
    return text;
  };
}

/** The element that holds inherited text; content can neither close nor open it. */
export const CONTEXT_TAG = "inherited_context";

function renderPart(part: Part, message: Message, lines: string[]): void {
  switch (part.type) {
    case "text":
      if (part.ignored || part.own) return;
      pushText(lines, isPlain(part.text) ? part.text : fenced(cleanText(message, part)));
      return;
    case "tool":
      renderTool(part, lines);
      return;
    case "file":
      lines.push(filePlaceholder(part));
      return;
    case "reasoning":
    case "compaction":
    case "opaque":
      return;
    default:
      part satisfies never;
  }
}

function renderTool(part: ToolPart, lines: string[]): void {
  if (!part.callMissing) lines.push(`[Tool: ${oneLine(part.tool)}]${inputText(part)}`);
  const { outcome } = part;
  if (outcome.status === "pending") return;
  lines.push(outcome.status === "failed" ? "[Tool error]" : "[Tool result]");
  if (isCleared(part)) {
    lines.push(CLEARED_PLACEHOLDER);
    return;
  }
  pushText(lines, guarded(outcomeText(outcome)));
  if (outcome.status === "done") lines.push(...outcome.attachments.map(filePlaceholder));
}

function inputText(part: ToolPart): string {
  if (part.inputCut !== undefined) return ` ${guarded(part.inputCut.preview)}`;
  return part.input === undefined ? "" : ` ${guarded(safeJson(part.input))}`;
}

/** How a file reads where only text can stand. */
export function filePlaceholder({ mime, filename }: FilePart): string {
  return `[File: ${oneLine(filename === undefined ? mime : `${mime} ${filename}`)}]`;
}

function pushText(lines: string[], text: string): void {
  if (text.trim() !== "") lines.push(text);
}

function oneLine(text: string): string {
  return PLAIN_WORD.test(text) ? text : guarded(text).replace(/\s+/g, " ");
}

function guarded(text: string): string {
  return isPlain(text) ? text : fenced(normalizeText(text));
}

function fenced(text: string): string {
  return fenceData(text, CONTEXT_TAGS);
}

/** True for text in which there is nothing to normalize or to fence: most of it, and finding that out is cheap. */
function isPlain(text: string): boolean {
  return !NOT_PLAIN.test(text);
}

const NOT_PLAIN = /[^\t\n\x20-\x3b\x3d-\x7e]/;
const PLAIN_WORD = /^[\w .:/-]{1,100}$/;
// A reminder is how hosts speak in the user's name, and inherited text is sent in that name.
const CONTEXT_TAGS: readonly string[] = [CONTEXT_TAG, "system-reminder"];

function label(role: Role): string {
  if (role === "user") return "User";
  if (role === "assistant") return "Agent";
  return oneLine(role.charAt(0).toUpperCase() + role.slice(1));
}
