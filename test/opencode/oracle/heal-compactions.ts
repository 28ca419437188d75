import type { Message, Transcript } from "../../../src/transcript/message.ts";

/**
 * The transcript as it would be without the faults in compactions that OpenCode does not look for, and which faults
 * those were: our window of a faulty session is the host's window of the healed one.
 */
export function healCompactions(transcript: Transcript): Healed {
  const faults = new Set<CompactionFault>();
  const healed = transcript.map((message, index): Message => {
    if (isBlankSummary(message)) {
      faults.add("empty-summary");
      const { summary: _, ...plain } = message;
      return plain;
    }
    const fault = tailFaultOf(transcript, index);
    if (fault === undefined) return message;
    faults.add(fault);
    return { ...message, parts: message.parts.map(withoutTail) };
  });
  return { transcript: healed, faults: [...faults] };
}

export interface Healed {
  readonly transcript: Transcript;
  readonly faults: readonly CompactionFault[];
}

/** What docs/contributing/opencode-rig.md explains, one by one. */
export type CompactionFault = "failed-tail" | "unanswered-tail" | "dangling-tail" | "empty-summary";

function tailFaultOf(transcript: Transcript, index: number): CompactionFault | undefined {
  const marker = transcript[index];
  const tailStartId = marker?.parts.find((part) => part.type === "compaction")?.tailStartId;
  if (marker === undefined || tailStartId === undefined) return undefined;
  const summaries = transcript.filter(({ summary, parentId }) => summary === true && parentId === marker.id);
  if (summaries.length === 0) return "unanswered-tail";
  if (!summaries.some(isGoodSummary)) return "failed-tail";
  return transcript.slice(0, index).some(({ id }) => id === tailStartId) ? undefined : "dangling-tail";
}

function isGoodSummary(message: Message): boolean {
  return message.finish !== undefined && message.error === undefined && !isBlankSummary(message);
}

function isBlankSummary({ summary, parts }: Message): boolean {
  return summary === true && !parts.some((part) => part.type === "text" && part.text.trim() !== "");
}

function withoutTail(part: Message["parts"][number]): Message["parts"][number] {
  if (part.type !== "compaction") return part;
  const { tailStartId: _, ...marker } = part;
  return marker;
}
