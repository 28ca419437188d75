import { asObject } from "../../text/json.ts";
import { type Message, project, type Transcript } from "../../transcript/message.ts";

/** A recorded session to measure on. */
export interface EvalSession {
  readonly name: string;
  /** The name of the format that it was read from. */
  readonly format: string;
  readonly transcript: Transcript;
  /** The folder that the agent worked in; paths are compared relative to it. */
  readonly workingDirectory?: string;
}

/**
 * What the model could see between two compactions, oldest first. A stretch after a compaction begins with its
 * summary. System messages are left out, since every model gets them anyway, and so are bare compaction markers.
 */
export function splitAtCompactions(transcript: Transcript): readonly Transcript[] {
  const stretches: Message[][] = [];
  let stretch: Message[] = [];
  for (const message of project(transcript)) {
    if (message.role === "system" || isBareMarker(message)) continue;
    if (isSummary(message) && stretch.length > 0) {
      stretches.push(stretch);
      stretch = [];
    }
    stretch.push(message);
  }
  if (stretch.length > 0) stretches.push(stretch);
  return stretches;
}

function isBareMarker({ parts }: Message): boolean {
  return parts.length > 0 && parts.every(({ type }) => type === "compaction");
}

/** True for a summary that replaces everything before it. */
export function isSummary(message: Message): boolean {
  return message.summary === true || message.metadata?.kind === "compaction_summary";
}

/** True for a step of the agent: an answer of the model that is no summary. */
export function isStep(message: Message): boolean {
  return message.role === "assistant" && !isSummary(message);
}

/**
 * The lines of a session file as one chain in the order in which they were written. Abandoned branches are included:
 * the agent saw them when it worked there. Lines of sub-agents stay apart.
 */
export function linesInFileOrder(lines: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>();
  let lastId: string | null = null;
  return lines.flatMap((line) => {
    const { uuid, id, type, isSidechain, logicalParentUuid: _, ...rest } = asObject(line);
    const lineId = uuid ?? id;
    if (typeof lineId !== "string" || isSidechain === true || type === "session") return [line];
    if (seen.has(lineId)) return [];
    seen.add(lineId);
    const parent = uuid === undefined ? { id, parentId: lastId } : { uuid, parentUuid: lastId };
    lastId = lineId;
    return [{ ...rest, type, ...parent }];
  });
}
