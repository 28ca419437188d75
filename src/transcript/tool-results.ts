import type { Handle } from "./edit.ts";
import type { Message, Transcript } from "./message.ts";
import { CLEARED_PLACEHOLDER, type ToolPart } from "./part.ts";
import { isVisibleToModel } from "./visibility.ts";

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
  for (const call of visibleCalls(transcript)) {
    const { outcome } = call.part;
    if (outcome.status === "pending") continue;
    const text = outcome.status === "done" ? outcome.output : outcome.error;
    results.push({ ...call, text, status: outcome.status, cleared: isCleared(call.part) });
  }
  return results;
}

/** Every call that the model can see and that has no outcome yet, oldest first. */
export function pendingCalls(transcript: Transcript): readonly ToolCall[] {
  return [...visibleCalls(transcript)].filter(({ part }) => part.outcome.status === "pending");
}

/** A tool part and where it stands. */
export interface ToolCall {
  readonly message: Message;
  readonly partIndex: number;
  readonly part: ToolPart;
}

function* visibleCalls(transcript: Transcript): Generator<ToolCall> {
  for (const message of transcript) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type === "tool" && part.agentVisible !== false) yield { message, partIndex, part };
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
