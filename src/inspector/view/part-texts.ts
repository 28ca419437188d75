import { type FileAccess, fileAccess } from "../../stages/file-access.ts";
import { safeJson } from "../../text/json.ts";
import type { Cut } from "../../text/truncate.ts";
import { isMedia, outcomeText } from "../../transcript/content.ts";
import { IMAGE_CHARS } from "../../transcript/estimate-message.ts";
import { isSummary, type Message, shownOutcome } from "../../transcript/message.ts";
import type { Part, ToolPart } from "../../transcript/part.ts";
import type { TextKind } from "./types.ts";

/** The texts of a part that take room in a window, empty ones included. */
export function partTexts(message: Message, part: Part, as: TextsAs): readonly PartText[] {
  switch (part.type) {
    case "text":
      return part.ignored && as === "shown"
        ? []
        : [{ kind: messageKind(message), side: "text", text: part.text, ...wholeChars(part.cut) }];
    case "reasoning":
      return [{ kind: "reasoning", side: "text", text: part.text, ...wholeChars(part.cut) }];
    case "tool": {
      const access = fileAccess(part);
      const about = { tool: part.tool, ...(access && { access }) };
      const failed = part.outcome.status === "failed" ? { failed: true as const } : {};
      return [
        {
          kind: "tool input",
          side: "input",
          text: inputText(part, as),
          ...about,
          ...wholeChars(part.inputCut),
        },
        {
          kind: "tool output",
          side: "output",
          text: outputText(part, as),
          ...about,
          ...failed,
          ...wholeChars(part.cut),
        },
      ];
    }
    case "file":
    case "compaction":
    case "opaque":
      return [];
    default:
      return part satisfies never;
  }
}

/** One text of a part. A call has two: its input and its output. */
export interface PartText {
  readonly kind: TextKind;
  readonly side: "text" | "input" | "output";
  readonly text: string;
  readonly tool?: string;
  readonly failed?: true;
  /** What a call did to which file, where that can be told. */
  readonly access?: FileAccess;
  /** Set where only the beginning of the text was kept when the file was read. */
  readonly wholeChars?: number;
}

/** `recorded`: the full text. `shown`: cleared outputs as placeholders, cut inputs as shortened. */
export type TextsAs = "recorded" | "shown";

/** How long a text is in the file. */
export function charsOfText({ text, wholeChars = text.length }: PartText): number {
  return wholeChars;
}

function wholeChars(cut: Cut | undefined): { readonly wholeChars?: number } {
  return cut?.method === "size" ? { wholeChars: cut.originalChars } : {};
}

/** The number of pictures and other non-text files in a part. */
export function countMedia(part: Part, as: TextsAs): number {
  const outcome = part.type === "tool" ? (as === "shown" ? shownOutcome(part) : part.outcome) : undefined;
  const files = outcome?.status === "done" ? outcome.attachments : [part];
  return files.filter((file) => file.type === "file" && isMedia(file)).length;
}

/** The input of a call as JSON, or as it reads where it was cut. */
export function inputText({ input, inputCut }: ToolPart, as: TextsAs): string {
  if (as === "shown" && inputCut !== undefined) return inputCut.preview;
  return input === undefined ? "{}" : safeJson(input);
}

/** The output or the error of a call. */
export function outputText(part: ToolPart, as: TextsAs): string {
  return outcomeText(as === "shown" ? shownOutcome(part) : part.outcome);
}

function messageKind(message: Message): TextKind {
  if (isSummary(message)) return "summary";
  if (message.role === "assistant") return "agent";
  return message.role === "user" ? "user" : "system";
}

/** True for the summary of a completed compaction. */
export function isCompactionSummary({ summary, error, metadata }: Message): boolean {
  return (summary === true && error === undefined) || metadata?.kind === "compaction_summary";
}

/** Tokens of a picture or another file. */
export const MEDIA_TOKENS: number = IMAGE_CHARS / 4;
