import { applyEdits } from "../../transcript/apply-edits.ts";
import type { Edit, Stage } from "../../transcript/edit.ts";
import type { Transcript } from "../../transcript/message.ts";
import { renderMessage } from "../../transcript/render.ts";
import type { StagesResult } from "../../transcript/run-stages.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../graduated-tiers.ts";
import { fillEdits } from "./fill-edits.ts";
import { fillRows } from "./fill-rows.ts";
import { type Budget, fitsBudget } from "./fits-budget.ts";
import { numberWords } from "./number-words.ts";
import { scoreRows } from "./score-rows.ts";
import { selectRows } from "./select-rows.ts";

/**
 * Fills a budget with the lines that are most likely needed next: the newest messages as they are, what users said,
 * the newest work without what is shown again, then old lines by what they are worth a character. Changes nothing
 * where everything fits. Deterministic, and linear in the length of the transcript.
 */
export function fillBudget(options: FillBudgetOptions): Stage {
  return (transcript) => fillTranscript(transcript, options).edits;
}

export interface FillBudgetOptions extends Budget {
  /** Tools whose results stay whole as long as there is room; a name matches when it contains one of these. */
  readonly neverCutTools?: readonly string[];
}

/** What `fillBudget` says, together with the transcript after it, whose size had to be found out anyway. */
export function fillTranscript(transcript: Transcript, options: FillBudgetOptions): StagesResult {
  const { maxChars, frameChars = () => 0, render = renderMessage } = options;
  const { neverCutTools = FORK_NO_TRUNCATION_TOOLS } = options;
  if (fitsBudget(transcript, options)) return { transcript, edits: [] };
  const fill = fillRows(transcript);
  const scores = scoreRows(fill, numberWords(fill));
  let roomChars = maxChars - frameChars(fill.messages.length);
  for (let attempt = 1; ; attempt++) {
    const edits = fillEdits(fill, selectRows(fill, scores, { maxChars: roomChars, render, neverCutTools }));
    const filled = applyEdits(transcript, edits, { at: 0 });
    let excessChars = frameChars(hiddenBy(edits)) - maxChars;
    for (const message of filled) excessChars += render(message).length;
    if (excessChars <= 0 || attempt === ATTEMPTS) return { transcript: filled, edits };
    // Where escapes make everything several times as long, less than nothing would be left of the room.
    roomChars = Math.max(roomChars / 4, roomChars - (excessChars + SPARE_CHARS) * 2 ** (attempt - 1));
  }
}

/** Escapes and labels take a little more than is counted; what is still too long then is for the hard budget behind. */
const ATTEMPTS = 4;
const SPARE_CHARS = 32;

function hiddenBy(edits: readonly Edit[]): number {
  return edits.filter(({ type }) => type === "hide-message").length;
}
