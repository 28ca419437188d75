import type { EvalPolicy } from "../eval-policy.ts";
import { plainMessages } from "../plain-text.ts";
import { lastChars } from "./drop-oldest.ts";

/** The yardstick: whoever is worse than this has no reason to exist. */
export const lastN: EvalPolicy = {
  name: "last-N",
  explain: "the last characters of the transcript, whatever they are",
  run: (transcript, budgetChars) => lastChars(plainMessages(transcript).join(""), budgetChars),
};
