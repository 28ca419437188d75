import { type TruncateOptions, truncate } from "../text/truncate.ts";
import { isVisibleToModel, type Message, type MessageId, type Transcript } from "./message.ts";
import { CLEARED_PLACEHOLDER, type Handle, outcomeText, type ToolPart, withText } from "./part.ts";

/** One finished call of a transcript: its output, or its error. */
export interface ToolResult extends ToolCall {
  readonly text: string;
  readonly status: "done" | "failed";
  /** True when the model no longer sees the text. */
  readonly cleared: boolean;
}

/** Every finished call that the model can see, oldest first. The one enumeration that all policies use. */
export function toolResults(transcript: Transcript): readonly ToolResult[] {
  const results: ToolResult[] = [];
  eachVisibleCall(transcript, (message, partIndex, part) => {
    const { outcome } = part;
    if (outcome.status === "pending") return;
    results.push({
      message,
      partIndex,
      part,
      text: outcomeText(outcome),
      status: outcome.status,
      cleared: isCleared(part),
    });
  });
  return results;
}

/** Every call that the model can see and that has no outcome yet, oldest first. */
export function pendingCalls(transcript: Transcript): readonly ToolCall[] {
  const calls: ToolCall[] = [];
  eachVisibleCall(transcript, (message, partIndex, part) => {
    if (part.outcome.status === "pending") calls.push({ message, partIndex, part });
  });
  return calls;
}

/** A tool part and where it stands. */
export interface ToolCall {
  readonly message: Message;
  readonly partIndex: number;
  readonly part: ToolPart;
}

function eachVisibleCall(
  transcript: Transcript,
  visit: (message: Message, partIndex: number, part: ToolPart) => void,
): void {
  for (const message of transcript) {
    if (!isVisibleToModel(message)) continue;
    for (let partIndex = 0; partIndex < message.parts.length; partIndex++) {
      const part = message.parts[partIndex];
      if (part?.type === "tool" && part.agentVisible !== false) visit(message, partIndex, part);
    }
  }
}

/** True when an output was cleared: by its timestamp, or because it is nothing but the placeholder. */
export function isCleared(part: ToolPart): boolean {
  if (part.clearedAt !== undefined) return true;
  return (
    part.outcome.status === "done" &&
    // An output much longer than the placeholder cannot be it; trimming 100 MB to find out would be a waste.
    part.outcome.output.length <= CLEARED_PLACEHOLDER.length + 64 &&
    part.outcome.output.trim() === CLEARED_PLACEHOLDER
  );
}

/** Where the content of a part can be recalled. */
export function handleOf(message: Message, partIndex: number): Handle {
  return `${message.id}/${partIndex}`;
}

/** Where the content of messages that follow each other can be recalled. */
export function spanHandle(messages: Transcript): Handle {
  const [first, last] = [messages[0]?.id ?? "", messages.at(-1)?.id ?? ""];
  return first === last ? first : `${first}${SPAN}${last}`;
}

/** The first and the last message that a handle of `spanHandle` names. */
export function readSpanHandle(handle: Handle): readonly [first: MessageId, last: MessageId] | undefined {
  const place = handle.indexOf(SPAN);
  return place === -1 ? undefined : [handle.slice(0, place), handle.slice(place + SPAN.length)];
}

const SPAN = "..";

/** A tool part whose output or error is shortened, with a note that adds to earlier ones; the same reference when nothing was cut. */
export function cutOutcome(part: ToolPart, options: TruncateOptions): ToolPart {
  const { text, cut } = truncate(outcomeText(part.outcome), options);
  if (cut === undefined) return part;
  return {
    ...part,
    outcome: withText(part.outcome, text),
    cut: {
      ...part.cut,
      ...cut,
      originalChars: part.cut?.originalChars ?? cut.originalChars,
      omittedChars: cut.omittedChars + (part.cut?.omittedChars ?? 0),
    },
  };
}

/** True when an earlier edit left nothing of the result but a line that says so. */
export function hasOnlyStub({ cut }: ToolPart): boolean {
  return cut !== undefined && (cut.archivedAs !== undefined || cut.omittedChars >= cut.originalChars);
}

/** A test whether a tool has one of these names, in upper or lower case. */
export function createToolMatcher(protectedTools: readonly string[]): (tool: string) => boolean {
  const names = new Set(protectedTools.map((name) => name.toLowerCase()));
  return (tool) => names.has(tool.toLowerCase());
}
