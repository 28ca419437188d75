import { type FileAccess, fileAccess } from "../../stages/file-access.ts";
import { safeJson } from "../../text/json.ts";
import { type Message, shownOutcome } from "../../transcript/message.ts";
import { outcomeText, type Part, type ToolPart } from "../../transcript/part.ts";

/** One text of a part. A call has two: its input and its output. */
interface PartText {
  readonly kind: TextKind;
  readonly side: "text" | "input" | "output";
  readonly text: string;
  readonly tool?: string;
  readonly failed?: true;
  /** What a call did to which file, where that can be told. */
  readonly access?: FileAccess;
}

export type TextKind =
  | "system"
  | "user"
  | "agent"
  | "summary"
  | "reasoning"
  | "tool input"
  | "tool output"
  | "media";

/** `recorded`: everything that was written down. `shown`: cleared outputs as their placeholder, cut inputs as they read. */
export type TextsAs = "recorded" | "shown";

/** The texts of a part that take room in a window, empty ones included. */
export function partTexts(message: Message, part: Part, as: TextsAs): readonly PartText[] {
  switch (part.type) {
    case "text":
      return part.ignored && as === "shown"
        ? []
        : [{ kind: messageKind(message), side: "text", text: part.text }];
    case "reasoning":
      return [{ kind: "reasoning", side: "text", text: part.text }];
    case "tool":
      return callTexts(part, as);
    case "file":
    case "compaction":
    case "opaque":
      return [];
    default:
      return part satisfies never;
  }
}

/** How many pictures and other files that are no text a part brings in. */
export function mediaIn(part: Part, as: TextsAs): number {
  const outcome = part.type === "tool" ? (as === "shown" ? shownOutcome(part) : part.outcome) : undefined;
  const files = outcome?.status === "done" ? outcome.attachments : [part];
  return files.filter((file) => file.type === "file" && !NOT_MEDIA.test(file.mime)).length;
}

const NOT_MEDIA = /^text\/|x-directory$/;

function callTexts(part: ToolPart, as: TextsAs): readonly PartText[] {
  const { tool } = part;
  const access = fileAccess(part);
  const about = { tool, ...(access && { access }) };
  const failed = part.outcome.status === "failed" ? { failed: true as const } : {};
  return [
    { kind: "tool input", side: "input", text: inputText(part, as), ...about },
    { kind: "tool output", side: "output", text: outputText(part, as), ...about, ...failed },
  ];
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

function messageKind({ role, summary, metadata }: Message): TextKind {
  if (summary || metadata?.kind === "compaction_summary") return "summary";
  if (role === "assistant") return "agent";
  return role === "user" ? "user" : "system";
}
