import { fenceData, fenceSpeakers } from "../text/fence.ts";
import { safeJson } from "../text/json.ts";
import { normalizeText } from "../text/normalize.ts";
import { isVisibleToModel, type Message, normalizePartText, type Role } from "./message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, outcomeText, type Part, type ToolPart } from "./part.ts";
import { isCleared } from "./tool-results.ts";

/**
 * A message as text: a newline, a label line, its visible parts. Empty when there is nothing to show.
 * The one way in which transcripts become text; sizes are lengths of this.
 */
export function renderMessage(message: Message): string {
  return renderWith(message, renderTool);
}

function renderWith(message: Message, toolLines: (part: ToolPart) => string): string {
  if (!isVisibleToModel(message)) return "";
  let lines = "";
  for (const part of message.parts) {
    if (part.agentVisible !== false)
      lines += part.type === "tool" ? toolLines(part) : renderPart(part, message);
  }
  return lines === "" ? "" : `\n${roleLabel(message.role)}:${lines}`;
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

/** A renderer that remembers what it rendered, for one piece of work over the same messages. */
export function createRenderer(): (message: Message) => string {
  const toolLines = memoize(renderTool);
  return memoize((message: Message) => renderWith(message, toolLines));
}

function memoize<Key extends object>(render: (key: Key) => string): (key: Key) => string {
  const done = new Map<Key, string>();
  return (key) => {
    const known = done.get(key);
    if (known !== undefined) return known;
    const text = render(key);
    done.set(key, text);
    return text;
  };
}

/** The tag around inherited text; the text can neither open nor close it. */
export const CONTEXT_TAG = "inherited_context";

/** What a part shows, each line with its break in front. Concatenated, not joined: JavaScript engines then share the texts instead of copying them. */
function renderPart(part: Exclude<Part, ToolPart>, message: Message): string {
  switch (part.type) {
    case "text":
      if (part.ignored || part.own) return "";
      return textLines(fenceContext(isPrintable(part.text) ? part.text : normalizePartText(message, part)));
    case "file":
      return `\n${filePlaceholder(part)}`;
    case "reasoning":
    case "compaction":
    case "opaque":
      return "";
    default:
      return part satisfies never;
  }
}

function renderTool(part: ToolPart): string {
  const call = part.callMissing ? "" : `\n[Tool: ${fencedLine(part.tool)}]${inputText(part)}`;
  const { outcome } = part;
  if (outcome.status === "pending") return call;
  const head = `${call}\n${outcome.status === "failed" ? "[Tool error]" : "[Tool result]"}`;
  if (isCleared(part)) return `${head}\n${CLEARED_PLACEHOLDER}`;
  let lines = head + textLines(normalizeAndFence(outcomeText(outcome)));
  if (outcome.status === "done")
    for (const file of outcome.attachments) lines += `\n${filePlaceholder(file)}`;
  return lines;
}

function inputText(part: ToolPart): string {
  if (part.inputCut !== undefined) return ` ${normalizeAndFence(part.inputCut.preview)}`;
  return part.input === undefined ? "" : ` ${normalizeAndFence(safeJson(part.input))}`;
}

/** How a file reads where only text can stand. */
export function filePlaceholder({ mime, filename }: FilePart): string {
  return `[File: ${fencedLine(filename === undefined ? mime : `${mime} ${filename}`)}]`;
}

function textLines(text: string): string {
  return text.trim() === "" ? "" : `\n${text}`;
}

function fencedLine(text: string): string {
  return PLAIN_WORD.test(text) ? text : normalizeAndFence(text).replace(/\s+/g, " ");
}

function normalizeAndFence(text: string): string {
  return fenceContext(isPrintable(text) ? text : normalizeText(text));
}

function fenceContext(text: string): string {
  return MAY_OPEN.test(text) ? fenceData(text, CONTEXT_TAGS) : fenceSpeakers(text);
}

/** True for printable ASCII, in which there is nothing to normalize: a cheap test that most texts pass. */
function isPrintable(text: string): boolean {
  return !NOT_PRINTABLE.test(text);
}

const NOT_PRINTABLE = /[^\t\n\x20-\x7e]/;
/** A bracket in front of how a fenced tag, a label or a token of a chat template begins, or of a word with a character that may disguise one. */
const MAY_OPEN = new RegExp(
  [
    "[<[\\ufe64\\uff1c\\ufe47\\uff3b][\\s/\\\\]*(?:inherited_|system|sys>|\\||start_|end_|inst\\]|available_|tool|\\w+\\|",
    "(?:s|bos|eos|sop|eop|unk|eot|pre|suf|mid|escape|role|bot|human)>|extra_id|reserved_|special_|ctrl\\d|unused\\d",
    "think|function_call|_\\w+>|longcat_|seed:|minimax:|arg_|fim_|file_sep|repo_name|call_id|model_settings",
    "begin_audio|img|(?:args|audio|prefix|middle|suffix|bos|eos|gmask|smask|other)\\]|control_|e~|user|program",
    "assistant|agent|developer|human|summary of|left out|result of|error of|\\w*[^\\s!-~])",
    "\\]~",
  ].join("|"),
  "i",
);
const PLAIN_WORD = /^[\w .:/-]{1,100}$/;
// Hosts put instructions into reminders in the user's name, and inherited text is sent in that name.
const CONTEXT_TAGS: readonly string[] = [CONTEXT_TAG, "system-reminder"];

function roleLabel(role: Role): string {
  if (role === "user") return "User";
  if (role === "assistant") return "Agent";
  return fencedLine(role.charAt(0).toUpperCase() + role.slice(1));
}
