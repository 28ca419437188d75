import { forkContext } from "../../fork/fork-context.ts";
import type { EvalPolicy } from "../eval-policy.ts";

/** The fork pipeline that fills its budget, as a child would get it. */
export const fill: EvalPolicy = {
  name: "fill",
  explain:
    "the newest messages whole, recent work without repetitions, then old lines by how likely they are needed",
  run: (transcript, budgetChars) => forkContext(transcript, { budgetChars, profile: "fill" }).text,
};
