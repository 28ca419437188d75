import { safeJson } from "../text/safe-json.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { outcomeText, type ToolPart } from "../transcript/part.ts";

/**
 * Each message as plain text: a label line, texts, calls and results as `show` wants them. All baselines write
 * this way, so that they differ only in what they keep. Reasoning is never inherited.
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

/** Shows a call as it was. */
export function showWhole(part: ToolPart): ShownCall {
  return { inputChars: Number.POSITIVE_INFINITY, output: outputOf(part) };
}

/** The text that a call gave, whether it went well or not; undefined while there is none. */
export function outputOf({ outcome }: ToolPart): string | undefined {
  return outcome.status === "pending" ? undefined : outcomeText(outcome);
}

/** The calls of a transcript, oldest first. */
export function callsOf(transcript: Transcript): readonly ToolPart[] {
  return transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
}

/** A piece of a message's plain text; pieces are joined by newlines. */
export interface PlainPiece {
  readonly type: "label" | "written" | "result";
  readonly text: string;
}

/** The pieces of a message: its label, its texts, its calls with their results. */
export function piecesOf(message: Message, showCall: (part: ToolPart) => ShownCall): readonly PlainPiece[] {
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

/** Parts never change, so each input is written once. */
function inputJson(part: ToolPart): string {
  let json = inputs.get(part);
  if (json === undefined) {
    json = safeJson(part.input ?? {});
    inputs.set(part, json);
  }
  return json;
}

const inputs = new WeakMap<ToolPart, string>();
