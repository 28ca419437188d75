import type { Stage } from "../../transcript/edit.ts";
import { type Budget, fitsBudget } from "./fits-budget.ts";

/** A stage that is only asked when a transcript does not fit: where everything fits, nothing is changed. */
export function whenOver(budget: Budget, stage: Stage): Stage {
  return (transcript) => (fitsBudget(transcript, budget) ? [] : stage(transcript));
}
