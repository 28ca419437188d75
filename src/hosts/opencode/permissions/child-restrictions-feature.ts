import { type Feature, ToolRefusal } from "../combine-hooks.ts";
import type { ForkBonds } from "../forks/fork-bonds.ts";

/** Refuses to children what they must not do; their tools stay declared, since another tool list would lose the provider's cached prefix. */
export function createChildRestrictionsFeature(bonds: ForkBonds): Feature {
  return {
    name: "fork restrictions",
    hooks: {
      "tool.execute.before": async ({ tool, sessionID }) => {
        const refusal = REFUSALS[tool];
        if (refusal === undefined || (await bonds.bondOf(sessionID)) === undefined) return;
        throw new ToolRefusal(refusal);
      },
    },
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  task: "You are a fork and cannot start subagents. Do it yourself.",
  question:
    "You are a fork and nobody answers questions. Decide yourself, or state the blocker in your report and stop.",
};
