import { formatMessagesAsContext } from "../../fork/format-messages-as-context.ts";
import { processMessagesForFork } from "../../fork/process-messages-for-fork.ts";
import type { EvalPolicy } from "../eval-policy.ts";

/** The fork pipeline that fills its budget, as a child would get it. */
export const fill: EvalPolicy = {
  name: "fill",
  explain:
    "the newest messages whole, recent work without repetitions, then old lines by how likely they are needed",
  run(transcript, budgetChars) {
    const { messages, stats } = processMessagesForFork(transcript, { budgetChars, profile: "fill" });
    return formatMessagesAsContext(messages, stats, { budgetChars }).text;
  },
};
