import { safeJson } from "../../text/json.ts";
import { outcomeText } from "../../transcript/content.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";

/**
 * Each message as plain text: a label line, texts, calls and results as `show` gives them. All baselines use it, so
 * that they differ only in what they keep. Reasoning is left out.
 */
export function plainMessages(transcript: Transcript, show: ShowCall = showWhole): readonly string[] {
  return eachMessage(transcript, show).map((pieces) => {
    let text = "";
    for (const piece of pieces) text += text === "" ? piece.text : `\n${piece.text}`;
    return text;
  });
}

/** How long each message's plain text would be. */
export function plainLengths(transcript: Transcript, show: ShowCall = showWhole): readonly number[] {
  return eachMessage(transcript, show).map((pieces) =>
    pieces.reduce((sum, { text }) => sum + text.length, pieces.length - 1),
  );
}

/** What is shown of a call whose result is this many calls away from the newest. */
export type ShowCall = (part: ToolPart, callsSince: number) => ShownCall;

export interface ShownCall {
  /** The most characters of the input's JSON. */
  readonly inputChars: number;
  /** Undefined where there is no result to show. */
  readonly output: string | undefined;
}

/** Shows a call in full. */
function showWhole(part: ToolPart): ShownCall {
  return { inputChars: Number.POSITIVE_INFINITY, output: outputOf(part) };
}

/** The output or error of a call; undefined while it is pending. */
export function outputOf({ outcome }: ToolPart): string | undefined {
  return outcome.status === "pending" ? undefined : outcomeText(outcome);
}

/** The calls of a transcript, oldest first. */
export function callsOf(transcript: Transcript): readonly ToolPart[] {
  return transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
}

/** A piece of a message's plain text; pieces are joined by newlines. */
interface PlainPiece {
  readonly type: "label" | "written" | "result";
  readonly text: string;
}

/** The pieces of a message: its label, its texts, its calls with their results. */
function piecesOf(message: Message, showCall: (part: ToolPart) => ShownCall): readonly PlainPiece[] {
  const pieces: PlainPiece[] = [{ type: "label", text: labelOf(message) }];
  for (const part of message.parts) {
    if (part.type === "text" && part.text !== "" && !part.ignored)
      pieces.push({ type: "written", text: part.text });
    if (part.type !== "tool") continue;
    const { inputChars, output } = showCall(part);
    pieces.push({ type: "written", text: callLine(part, inputChars) });
    if (output !== undefined) pieces.push(RESULT_LABEL, { type: "result", text: output });
  }
  return pieces;
}

const RESULT_LABEL: PlainPiece = { type: "label", text: "[Tool result]" };

function eachMessage(transcript: Transcript, show: ShowCall): readonly (readonly PlainPiece[])[] {
  let callsLeft = callsOf(transcript).length;
  return transcript.map((message) => piecesOf(message, (part) => show(part, --callsLeft)));
}

function labelOf({ role }: Message): string {
  return role === "user" ? "\nUser:" : role === "assistant" ? "\nAgent:" : `\n${role}:`;
}

function callLine(part: ToolPart, inputChars: number): string {
  const json = inputJson(part);
  return `[Tool: ${part.tool}] ${json.length > inputChars ? `${json.slice(0, inputChars)}...` : json}`;
}

const inputJson = cachePerObject(({ input }: ToolPart) => safeJson(input ?? {}));

/** The function with its results cached; messages and parts are immutable. */
export function cachePerObject<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const cache = new WeakMap<K, V>();
  return (key) => {
    const value = cache.get(key) ?? compute(key);
    cache.set(key, value);
    return value;
  };
}

/** A history as one text, with the places where its blocks begin and end. */
export interface HistoryText {
  /** All of it, unescaped. */
  readonly text: string;
  /** Its length as it would be sent. */
  readonly sentChars: number;
  /** In order, without overlap. */
  readonly blocks: readonly HistoryBlock[];
}

/** One label, text, call or result of a history. */
export interface HistoryBlock {
  readonly type: PlainPiece["type"];
  readonly startChar: number;
  readonly endChar: number;
  /** The number of calls in later messages. */
  readonly callsSince: number;
  /** How long the block is before unescaping. */
  readonly sentChars: number;
}

/** The text of a history. Blocks are unescaped one by one, so that no escape spans two of them. */
export function historyText(history: Transcript): HistoryText {
  const blocks: HistoryBlock[] = [];
  let callsSince = callsOf(history).length;
  let text = "";
  let sentChars = 0;
  for (const message of history) {
    for (const { type } of message.parts) if (type === "tool") callsSince--;
    for (const [index, piece] of piecesOf(message, showWhole).entries()) {
      if (index > 0) text += "\n";
      const startChar = text.length;
      text += unescapeText(piece.text);
      sentChars += piece.text.length + (index > 0 ? 1 : 0);
      blocks.push({
        type: piece.type,
        startChar,
        endChar: text.length,
        callsSince,
        sentChars: piece.text.length,
      });
    }
  }
  return { text, sentChars, blocks };
}

/** The block at an offset; undefined between two blocks. */
export function blockAt({ blocks }: HistoryText, char: number): HistoryBlock | undefined {
  let low = 0;
  let high = blocks.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const block = blocks[middle];
    if (block === undefined) return undefined;
    if (char < block.startChar) high = middle - 1;
    else if (char >= block.endChar) low = middle + 1;
    else return block;
  }
  return undefined;
}

/**
 * The text with `\n`, `\t`, `\"` and `\\` unescaped. Histories and what policies keep of them are both unescaped, so
 * that a line inside the JSON of a tool input counts as a line.
 */
export function unescapeText(text: string): string {
  let slash = text.indexOf("\\");
  if (slash === -1) return text;
  let plain = "";
  let from = 0;
  while (slash !== -1) {
    const meaning = MEANINGS[text.charAt(slash + 1)];
    if (meaning !== undefined) {
      plain += text.slice(from, slash) + meaning;
      from = slash + 2;
    }
    slash = text.indexOf("\\", meaning === undefined ? slash + 1 : from);
  }
  return plain + text.slice(from);
}

const MEANINGS: Readonly<Record<string, string>> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
