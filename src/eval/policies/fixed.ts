import { formatMessagesAsContext } from "../../fork/format-messages-as-context.ts";
import { processMessagesForFork } from "../../fork/process-messages-for-fork.ts";
import type { EvalPolicy } from "../eval-policy.ts";

/** The documented fork pipeline, as a child would get it. */
export const fixed: EvalPolicy = {
  name: "fixed",
  explain:
    "the documented tiers: 5 results whole, 10 cut to 3,000, older ones to 500, then the oldest messages out",
  run(transcript, budgetChars) {
    const { messages, stats } = processMessagesForFork(transcript, { budgetChars });
    return formatMessagesAsContext(messages, stats, { budgetChars }).text;
  },
};
