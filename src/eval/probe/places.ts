import { isSummary, type Message, project, type Transcript } from "../../transcript/message.ts";
import { callsOf } from "./history-text.ts";
import { isStep } from "./next-use.ts";

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

/** A step of the agent at which policies are measured. */
interface ProbePlace {
  readonly stretch: Transcript;
  readonly atIndex: number;
}

export interface ProbeOptions {
  /** How many steps a probe looks ahead. */
  readonly steps: number;
  readonly maxProbes: number;
}

/** Places spread over a session, with enough history before them and enough calls after them. */
export function chooseProbes(
  transcript: Transcript,
  { steps, maxProbes }: ProbeOptions,
): readonly ProbePlace[] {
  const places = splitAtCompactions(transcript).flatMap((stretch) =>
    probeIndexes(stretch, { steps, everySteps: EVERY_STEPS, minResults: MIN_RESULTS }).map((atIndex) => ({
      stretch,
      atIndex,
    })),
  );
  if (places.length <= maxProbes) return places;
  const apart = places.length / maxProbes;
  return Array.from({ length: maxProbes }, (_, index) => places[Math.floor((index + 0.5) * apart)]).filter(
    (place) => place !== undefined,
  );
}

const EVERY_STEPS = 8;
const MIN_RESULTS = 15;
const MIN_NEXT_CALLS = 3;

/** The steps of a stretch with enough results before them and enough calls in the steps after them. */
export function probeIndexes(
  stretch: Transcript,
  {
    steps,
    everySteps,
    minResults,
  }: { readonly steps: number; readonly everySteps: number; readonly minResults: number },
): readonly number[] {
  const indexes: number[] = [];
  let results = 0;
  let stepsSince = everySteps;
  for (const [index, message] of stretch.entries()) {
    if (isStep(message)) {
      stepsSince++;
      if (
        results >= minResults &&
        stepsSince >= everySteps &&
        callsOf(stretch.slice(index).filter(isStep).slice(0, steps)).length >= MIN_NEXT_CALLS
      ) {
        indexes.push(index);
        stepsSince = 0;
      }
    }
    for (const part of message.parts)
      if (part.type === "tool" && part.outcome.status !== "pending") results++;
  }
  return indexes;
}
