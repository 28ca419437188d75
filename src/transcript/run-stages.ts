import { type ApplyOptions, applyEdits } from "./apply-edits.ts";
import type { Edit, Stage } from "./edit.ts";
import type { Transcript } from "./message.ts";

/** Runs stages one after another, each on what the one before left, and gathers their edits. */
export function runStages(
  transcript: Transcript,
  stages: readonly Stage[],
  options: ApplyOptions = { at: 0 },
): StagesResult {
  let current = transcript;
  const edits: Edit[] = [];
  for (const stage of stages) {
    const next = stage(current);
    if (next.length === 0) continue;
    current = applyEdits(current, next, options);
    for (const edit of next) edits.push(edit);
  }
  return { transcript: current, edits };
}

export interface StagesResult {
  readonly transcript: Transcript;
  readonly edits: readonly Edit[];
}
