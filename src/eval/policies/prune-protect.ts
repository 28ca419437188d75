import type { Part } from "../../transcript/part.ts";
import type { EvalPolicy } from "../eval-policy.ts";
import { callsOf, outputOf, plainMessages } from "../plain-text.ts";
import { dropOldest } from "./drop-oldest.ts";
import { clearAllBut } from "./mask-10.ts";

/** Pruning as OpenCode does it, with the protected amount taken from the budget. */
export const pruneProtect: EvalPolicy = {
  name: "prune-protect",
  explain:
    "the newest results whole up to 80 % of the budget, older ones replaced by a line, then the oldest messages out",
  run(transcript, budgetChars) {
    const kept = new Set<Part>();
    let chars = 0;
    for (const part of callsOf(transcript).toReversed()) {
      chars += outputOf(part)?.length ?? 0;
      if (chars > PROTECTED_SHARE * budgetChars) break;
      kept.add(part);
    }
    return dropOldest(plainMessages(transcript, clearAllBut(kept)), budgetChars);
  },
};

const PROTECTED_SHARE = 0.8;
