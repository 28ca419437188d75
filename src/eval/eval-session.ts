import type { Message, Transcript } from "../transcript/message.ts";
import { project } from "../transcript/visibility.ts";

/** A recorded session to measure on. */
export interface EvalSession {
  readonly name: string;
  /** The name of the format that it was read from. */
  readonly format: string;
  readonly transcript: Transcript;
  /** The folder that the agent worked in; paths are compared relative to it. */
  readonly workingDirectory?: string;
}

/** What the model could see between two compactions, oldest first. A stretch after a compaction begins with its summary. */
export function stretchesOf(transcript: Transcript): readonly Transcript[] {
  const stretches: Message[][] = [];
  let stretch: Message[] = [];
  for (const message of project(transcript)) {
    if (isSummary(message) && stretch.length > 0) {
      stretches.push(stretch);
      stretch = [];
    }
    stretch.push(message);
  }
  if (stretch.length > 0) stretches.push(stretch);
  return stretches;
}

/** True for a message that stands for everything before it. */
export function isSummary(message: Message): boolean {
  return message.summary === true || message.metadata?.kind === "compaction_summary";
}

/** True for a step of the agent: one answer of the model, a summary aside. */
export function isStep(message: Message): boolean {
  return message.role === "assistant" && !isSummary(message);
}
