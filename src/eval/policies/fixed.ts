import { forkContext } from "../../fork/fork-context.ts";
import type { EvalPolicy } from "../eval-policy.ts";

/** The documented fork pipeline, as a child would get it. */
export const fixed: EvalPolicy = {
  name: "fixed",
  explain:
    "the documented tiers: 5 results whole, 10 cut to 3,000, older ones to 500, then the oldest messages out",
  run(transcript, budgetChars) {
    return forkContext(transcript, { budgetChars }).text;
  },
};
