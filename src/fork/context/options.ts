import {
  DOCUMENTED_TIER_LIMITS,
  FORK_NO_TRUNCATION_TOOLS,
  TIER_LIMITS_SHAPE,
  type TierLimits,
} from "../../stages/tiers.ts";
import {
  anyText,
  callback,
  limitFrom,
  listOf,
  objectOf,
  oneOf,
  readOptions,
  type Shape,
  text,
} from "../../text/check.ts";
import { type Edit, type EditReason, hidePart, type Stage } from "../../transcript/edit.ts";
import { isVisibleToModel } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";

/** What may be set for a fork. */
export interface ForkOptions {
  /** Most characters (UTF-16 units) of the wrapped text; at least 512. @default 200,000 */
  readonly budgetChars?: number;
  /** `default` fills the budget with the lines most likely needed next; `documented` cuts results by age to fixed limits. @default default */
  readonly profile?: ForkProfile;
  /** How much the documented profile keeps of a result and of an input, by age. */
  readonly limits?: TierLimits;
  /** Names the wrapper, so that text from elsewhere cannot imitate it. @default unset */
  readonly sessionId?: string;
  /** Tools whose results are never cut. @default ask_user_questions, question, skill */
  readonly neverCutTools?: readonly string[];
  /** Tools that launch or watch children; their unfinished calls stay behind. @default fork, fork_result, fork_cancel, recall */
  readonly ownTools?: readonly string[];
  /** Cleared outputs stay cleared, or come back from the store. @default placeholder */
  readonly pruned?: "placeholder" | "restore";
  /** What the child is asked to do. In the default profile it decides what stays of a context that is too long: files that it names come first, then lines with its identifiers. @default unset */
  readonly directive?: string;
  /** Takes secrets out for a child at another provider: `redactTranscript()` of `carryover/stages`. Unset: they stay. @default unset */
  readonly redact?: Stage;
}

/** By line within the budget, or by age to the documented limits. */
export type ForkProfile = "default" | "documented";

/** Most characters of an inherited context. */
export const FORK_CHAR_BUDGET = 200_000;
/** Below this many characters no message is removed. */
export const FORK_CHAR_NO_REMOVAL = 120_000;
/** Another name of `FORK_CHAR_NO_REMOVAL`. */
export const FORK_NO_TRIM_THRESHOLD: number = FORK_CHAR_NO_REMOVAL;

/** The options with every default filled in; throws with all problems at once. */
export function readForkOptions(options: ForkOptions): ResolvedForkOptions {
  return readOptions(FORK_SHAPE, DEFAULTS, options);
}

export type ResolvedForkOptions = Required<Omit<ForkOptions, OptionalKey>> & Pick<ForkOptions, OptionalKey>;

type OptionalKey = "sessionId" | "redact" | "directive";

/** The tools that launch or watch children by default. */
export const FORK_OWN_TOOLS: readonly string[] = ["fork", "fork_result", "fork_cancel", "recall"];

const DEFAULTS: ResolvedForkOptions = {
  budgetChars: FORK_CHAR_BUDGET,
  profile: "default",
  limits: DOCUMENTED_TIER_LIMITS,
  neverCutTools: FORK_NO_TRUNCATION_TOOLS,
  ownTools: FORK_OWN_TOOLS,
  pruned: "placeholder",
};

/** What the options of a fork may be. */
export const FORK_SHAPE: Shape<ForkOptions> = {
  // Less could not hold the wrapper and a notice.
  budgetChars: limitFrom(512),
  profile: oneOf("default", "documented"),
  limits: objectOf(TIER_LIMITS_SHAPE),
  sessionId: anyText,
  neverCutTools: listOf(text),
  ownTools: listOf(text),
  pruned: oneOf("placeholder", "restore"),
  directive: anyText,
  redact: callback,
};

/** Hides what is the parent's own business: its reasoning, hints of ours, text the model never saw, launches still in flight. */
export function omitForChild(options: OmitForChildOptions = {}): Stage {
  const { ownTools } = readOptions(OMIT_SHAPE, { ownTools: FORK_OWN_TOOLS }, options);
  return (transcript) => {
    const edits: Edit[] = [];
    for (const message of transcript) {
      if (!isVisibleToModel(message)) continue;
      for (const [partIndex, part] of message.parts.entries()) {
        const reason = part.agentVisible === false ? undefined : reasonToOmit(part, ownTools);
        if (reason === undefined) continue;
        edits.push(hidePart({ message, partIndex, part }, { stage: "omit-for-child", reason }));
      }
    }
    return edits;
  };
}

/** Options of `omitForChild`. */
export interface OmitForChildOptions {
  /** Tools that launch or watch children; their unfinished calls are not shown to a child. @default fork, fork_result, fork_cancel, recall */
  readonly ownTools?: readonly string[];
}

const OMIT_SHAPE: Shape<OmitForChildOptions> = { ownTools: listOf(text) };

function reasonToOmit(part: Part, ownTools: readonly string[]): EditReason | undefined {
  if (part.type === "reasoning") return "reasoning";
  if (part.type === "text" && part.own) return "own-hint";
  if (part.type === "text" && part.ignored) return "ignored";
  if (part.type === "tool" && part.outcome.status === "pending" && ownTools.includes(part.tool))
    return "in-flight";
  return undefined;
}
