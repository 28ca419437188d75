import type { Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type Part } from "../../transcript/part.ts";
import type { EvalPolicy } from "../eval-policy.ts";
import { isStep } from "../eval-session.ts";
import { outputOf, plainMessages, type ShowCall } from "../plain-text.ts";
import { dropOldest } from "./drop-oldest.ts";

/** Observation masking, as SWE-agent does it. */
export const mask10: EvalPolicy = {
  name: "mask-10",
  explain:
    "the results of the last 10 steps whole, older ones replaced by a line, then the oldest messages out",
  run(transcript, budgetChars) {
    const kept = new Set<Part>(lastSteps(transcript).flatMap(({ parts }) => parts));
    return dropOldest(plainMessages(transcript, clearAllBut(kept)), budgetChars);
  },
};

/** Shows the results of these calls and a placeholder for all others; inputs stay whole. */
export function clearAllBut(kept: ReadonlySet<Part>): ShowCall {
  return (part) => {
    const output = outputOf(part);
    return {
      inputChars: Number.POSITIVE_INFINITY,
      output: output === undefined || kept.has(part) ? output : CLEARED_PLACEHOLDER,
    };
  };
}

const STEPS = 10;

function lastSteps(transcript: Transcript): Transcript {
  return transcript.filter(isStep).slice(-STEPS);
}
