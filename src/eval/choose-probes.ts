import type { Transcript } from "../transcript/message.ts";
import { isStep, stretchesOf } from "./eval-session.ts";

/** A step of the agent at which policies are tried. */
export interface ProbePlace {
  readonly stretch: Transcript;
  readonly atIndex: number;
}

export interface ProbeOptions {
  /** How many steps a probe looks ahead. */
  readonly steps: number;
  readonly maxProbes: number;
}

/** Places spread over a session: with enough behind them to lose something, and enough before them to miss it. */
export function chooseProbes(
  transcript: Transcript,
  { steps, maxProbes }: ProbeOptions,
): readonly ProbePlace[] {
  const places = stretchesOf(transcript).flatMap((stretch) =>
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

export interface ProbeSpacing {
  readonly steps: number;
  readonly everySteps: number;
  readonly minResults: number;
}

/** The steps of a stretch that have this many results before them and calls in the steps ahead. */
export function probeIndexes(
  stretch: Transcript,
  { steps, everySteps, minResults }: ProbeSpacing,
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
        callsAhead(stretch.slice(index), steps) >= MIN_NEXT_CALLS
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

function callsAhead(ahead: Transcript, steps: number): number {
  return ahead
    .filter(isStep)
    .slice(0, steps)
    .reduce((calls, { parts }) => calls + parts.filter(({ type }) => type === "tool").length, 0);
}
