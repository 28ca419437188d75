import { collectAnchors } from "../../compaction/anchor-index.ts";
import { createTextCleaner } from "../../compaction/summary-clean-text.ts";
import { piecesOf } from "../../compaction/summary-pieces.ts";
import type { Transcript } from "../../transcript/message.ts";
import type { EvalPolicy } from "../eval-policy.ts";
import { fill } from "./fill.ts";

/** A compaction without a model: what `fill` keeps in two thirds of the room, and an index of the names that it lost. */
export const fold: EvalPolicy = {
  name: "fold",
  explain:
    "fill in two thirds of the room; in the rest the paths and names that it left out, the most telling first",
  run(transcript, budgetChars) {
    const lines = fill.run(transcript, Math.max(MIN_FILL_CHARS, Math.floor(budgetChars * LINES_SHARE)));
    return lines + nameIndex(transcript, { maxChars: budgetChars - lines.length, lines });
  },
};

const MIN_FILL_CHARS = 512;
const LINES_SHARE = 2 / 3;
const TITLE = "\nAlso seen:";

interface NameIndexOptions {
  readonly maxChars: number;
  readonly lines: string;
}

function nameIndex(transcript: Transcript, { maxChars, lines }: NameIndexOptions): string {
  let index = TITLE;
  for (const { type, text } of collectAnchors([], piecesOf(transcript, createTextCleaner("off")))) {
    if (type !== "path" && type !== "identifier") continue;
    if (index.length + 1 + text.length > maxChars || lines.includes(text)) continue;
    index += ` ${text}`;
  }
  return index === TITLE || index.length > maxChars ? "" : index;
}
