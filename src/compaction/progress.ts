import type { CompactionTrigger } from "./plan/plan-compaction.ts";
import type { Clock } from "./ports/summarizer.ts";

/** A compaction is under way: told whenever another step begins, and while the summary arrives at most four times a second. */
export interface CompactionProgress {
  readonly type: "compaction_progress";
  /** Why the compaction happens. */
  readonly trigger: CompactionTrigger;
  /** False when a person asked for it. */
  readonly auto: boolean;
  /** What is being done: extensions are asked (`hooks`), the model writes (`summary`), its summary takes its place (`check`). */
  readonly doing: CompactionStep;
  /** The number of this step, from 1. */
  readonly step: number;
  /** How many steps there are. */
  readonly steps: number;
  /** Which request for a summary it is; 2 after an answer that could not be used, 0 before the first. */
  readonly attempt: number;
  /** Characters of the summary that have arrived; 0 until the end where the summarizer does not stream. */
  readonly summaryChars: number;
  /** Set when requests go on meanwhile. */
  readonly background?: true;
}

type CompactionStep = (typeof STEPS)[number];

const STEPS = ["hooks", "summary", "check"] as const;

/** Tells how a compaction goes on. */
export interface ProgressTeller {
  /** Another step, or another request for a summary, begins. */
  begin(doing: CompactionStep, attempt?: number): void;
  /** So many more characters of the summary have arrived. */
  arrived(chars: number): void;
}

/** A teller that has told nothing yet. */
export function createProgress(
  about: Pick<CompactionProgress, "trigger" | "auto">,
  { clock, emit }: { readonly clock: Clock; readonly emit: (event: CompactionProgress) => void },
): ProgressTeller {
  let doing: CompactionStep = "hooks";
  let attempt = 0;
  let summaryChars = 0;
  let toldAt = 0;
  const tell = (): void => {
    toldAt = clock.now();
    const step = STEPS.indexOf(doing) + 1;
    emit({
      type: "compaction_progress",
      ...about,
      doing,
      step,
      steps: STEPS.length,
      attempt,
      summaryChars,
    });
  };
  return {
    begin(next, number = attempt) {
      if (number !== attempt) summaryChars = 0;
      doing = next;
      attempt = number;
      tell();
    },
    arrived(chars) {
      summaryChars += chars;
      if (chars > 0 && clock.now() - toldAt >= TELL_EVERY_MS) tell();
    },
  };
}

const TELL_EVERY_MS = 250;
