import { fence } from "../text/fence.ts";
import { normalizeText } from "../text/normalize-text.ts";
import { safeJson } from "../text/safe-json.ts";
import { cleanText } from "./clean-text.ts";
import type { Message, Role } from "./message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, type Part, type ToolPart } from "./part.ts";
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
  return lines.length === 0 ? "" : `\n${label(message.role)}:\n${lines.join("\n")}`;
}

/** The element that holds inherited text; content can neither close nor open it. */
export const CONTEXT_TAG = "inherited_context";

function renderPart(part: Part, message: Message, lines: string[]): void {
  switch (part.type) {
    case "text":
      if (part.ignored || part.own) return;
      pushText(lines, cleanText(message, part));
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
  pushText(lines, normalizeText(outcome.status === "failed" ? outcome.error : outcome.output));
  if (outcome.status === "done") lines.push(...outcome.attachments.map(filePlaceholder));
}

function inputText(part: ToolPart): string {
  if (part.inputCut !== undefined) return ` ${guarded(part.inputCut.preview)}`;
  return part.input === undefined ? "" : ` ${guarded(safeJson(part.input))}`;
}

function filePlaceholder({ mime, filename }: FilePart): string {
  return `[File: ${oneLine(filename === undefined ? mime : `${mime} ${filename}`)}]`;
}

function pushText(lines: string[], text: string): void {
  if (text.trim() !== "") lines.push(fence(text, [CONTEXT_TAG]));
}

function oneLine(text: string): string {
  return guarded(text).replace(/\s+/g, " ");
}

function guarded(text: string): string {
  return fence(normalizeText(text), [CONTEXT_TAG]);
}

function label(role: Role): string {
  if (role === "user") return "User";
  if (role === "assistant") return "Agent";
  return oneLine(role.charAt(0).toUpperCase() + role.slice(1));
}
