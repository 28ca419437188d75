import { DEFAULT_COMPACTION_SETTINGS } from "../../../compaction/compaction-settings.ts";
import { FORK_CHAR_BUDGET } from "../../../fork/fork-options.ts";
import { PRUNE_PROTECT } from "../../../stages/prune.ts";
import type { PolicyBudget, PolicyInfo } from "./types.ts";

/** The ways to decide what stays, with limits that fit a session of this size. */
export function policiesFor({ windowTokens, tokens, chars }: SessionSize): readonly PolicyInfo[] {
  const child = charBudget("what the child may read", chars);
  return [
    {
      id: "as-sent",
      label: "As sent",
      about: "What the session's own program sends next, after its own compactions and clearing.",
    },
    {
      id: "session",
      label: "Carryover session",
      about:
        "What a Carryover session would do right now: clear what pays for itself, compact when the window is full.",
      budget: tokenBudget("the model's window", { min: 8_000, most: windowTokens, wanted: windowTokens }),
    },
    {
      id: "fill",
      label: "Fork, fill",
      about: "What a child inherits when the whole budget is filled with the lines most likely to be needed.",
      budget: child,
    },
    {
      id: "fixed",
      label: "Fork, fixed tiers",
      about:
        "What a child inherits by the documented tiers: new results whole, old ones cut, the oldest messages out.",
      budget: child,
    },
    {
      id: "lines",
      label: "Keep lines",
      about: "Of old work only the lines most likely to be needed stay; the newest results stay whole.",
      budget: charBudget("what may stay", chars),
    },
    {
      id: "prune",
      label: "Prune",
      about: "Old tool outputs give way to a placeholder; the newest stay.",
      budget: tokenBudget("outputs that stay", {
        min: 0,
        most: Math.max(PRUNE_PROTECT, tokens),
        wanted: PRUNE_PROTECT,
      }),
    },
    {
      id: "supersede",
      label: "Supersede",
      about: "Results that something newer shows again give way to a line that names it.",
    },
    {
      id: "fold",
      label: "Compact, no model",
      about: "A compaction now, with the summary that needs no model; the newest part stays word for word.",
      budget: tokenBudget("what stays word for word", {
        min: 1_000,
        most: Math.min(tokens, windowTokens),
        wanted: DEFAULT_COMPACTION_SETTINGS.keepRecentTokens,
      }),
    },
    {
      id: "last-n",
      label: "Newest only",
      about: "The oldest messages out until the rest fits, nothing else: what many programs do.",
      budget: charBudget("what may stay", chars),
    },
  ];
}

export interface SessionSize {
  readonly windowTokens: number;
  readonly tokens: number;
  readonly chars: number;
}

/** The budget that counts: what was asked for, within the limits. */
export function budgetWithin(budget: PolicyBudget, asked: number | undefined): number {
  const wanted = asked === undefined || Number.isNaN(asked) ? budget.default : Math.round(asked);
  return Math.min(budget.max, Math.max(budget.min, wanted));
}

/** Less could not hold the frame of a child's text and a notice. */
const MIN_CHARS = 512;

function charBudget(label: string, chars: number): PolicyBudget {
  return {
    unit: "chars",
    label,
    min: MIN_CHARS,
    max: Math.max(FORK_CHAR_BUDGET, Math.ceil(chars * ROOM_FOR_LABELS)),
    default: FORK_CHAR_BUDGET,
  };
}

/** Names and line breaks around messages; with this much more than the texts everything fits. */
const ROOM_FOR_LABELS = 1.2;

function tokenBudget(
  label: string,
  { min, most, wanted }: { readonly min: number; readonly most: number; readonly wanted: number },
): PolicyBudget {
  const max = Math.max(min, most);
  return { unit: "tokens", label, min, max, default: Math.min(max, Math.max(min, wanted)) };
}
