import { dropMedia } from "../compaction/recover-drop-media.ts";
import { planRecovery, type RecoveryRequest } from "../compaction/recovery-ladder.ts";
import { redactSecrets } from "../text/redact-secrets.ts";
import type { Transcript } from "../transcript/message.ts";
import { hideFailedAttempt } from "./failed-attempt.ts";
import type { RecoveryState } from "./recovery-state.ts";
import type { GiveUp, GiveUpReason, SessionAction } from "./session-action.ts";

/** What a refused request needs next, from the state of its recovery and the transcript alone. */
export function nextRecoveryAction(state: RecoveryState, situation: RecoverySituation): SessionAction {
  const { transcript, version } = situation;
  const { phase } = state;
  if (phase.type === "give-up") return giveUp(state, phase.reason);
  if (phase.type === "retry") return { type: "retry" };
  const failed = hideFailedAttempt(transcript);
  if (failed.length > 0) return { type: "recover", version, step: "failed-attempt", edits: failed };
  if (phase.type === "lower-output") return { type: "lower-output", maxOutputTokens: phase.maxOutputTokens };
  if (phase.type === "drop-media") {
    const edits = dropMedia(transcript, phase.which);
    if (edits.length > 0) return { type: "recover", version, step: "drop-media", edits };
    return giveUp(state, "no-media");
  }
  const plan = planRecovery(transcript, {
    ...situation.ladder,
    limitTokens: state.limitTokens,
    tried: state.tried,
  });
  switch (plan.status) {
    case "fits":
      return state.window === "smaller" ? { type: "retry" } : giveUp(state, "still-refused");
    case "compact":
      return { type: "recover", version, step: "compact" };
    case "step":
      return { type: "recover", version, step: plan.rung, edits: plan.edits };
    case "exhausted":
      return giveUp(state, "does-not-fit");
    default:
      plan satisfies never;
      return { type: "retry" };
  }
}

export interface RecoverySituation {
  readonly transcript: Transcript;
  readonly version: number;
  readonly ladder: Omit<RecoveryRequest, "limitTokens" | "tried">;
}

function giveUp(state: RecoveryState, reason: GiveUpReason): GiveUp {
  const said = redactSecrets(state.report.message);
  const tried = state.tried.length === 0 ? "" : ` Tried: ${state.tried.join(", ")}.`;
  return {
    type: "give-up",
    reason,
    message: `${ADVICE[reason]}${tried}${said === "" ? "" : ` The provider said: ${said}`}`,
    error: state.error,
  };
}

const ADVICE: Readonly<Record<GiveUpReason, string>> = {
  "no-gain": "Compacting gains nothing any more. Start a new session or use a model with a larger window.",
  "does-not-fit":
    "The request does not fit even with nothing but the last message in it: the system prompt and the tool definitions take all the room. Remove tools or use a model with a larger window.",
  "still-refused":
    "The provider refuses the request although it was made smaller. Start a new session, shorten the last message, or use a model with a larger window.",
  "auto-off":
    "The request is too large for the model, and automatic compaction is off. Compact by hand, switch it on, or start a new session.",
  "rate-limit-size":
    "The request is larger than the rate limit allows at all, so waiting does not help. Use a smaller context or a higher limit.",
  "no-media":
    "The request has too many bytes, and there are no media left to take out. Shorten long outputs or start a new session.",
};
