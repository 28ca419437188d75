import { truncate } from "../../text/truncate.ts";
import type { EvalPolicy } from "../eval-policy.ts";
import { outputOf, plainMessages } from "../plain-text.ts";
import { dropOldest } from "./drop-oldest.ts";

/** One limit for all results, whatever their age. */
export const uniform1500: EvalPolicy = {
  name: "uniform-1500",
  explain:
    "every result cut to its first 1,500 characters and every input to 200, then the oldest messages out",
  run: (transcript, budgetChars) =>
    dropOldest(
      plainMessages(transcript, (part) => {
        const output = outputOf(part);
        return {
          inputChars: INPUT_CHARS,
          output: output && truncate(output, { limitChars: RESULT_CHARS, method: "head" }).text,
        };
      }),
      budgetChars,
    ),
};

const RESULT_CHARS = 1500;
const INPUT_CHARS = 200;
