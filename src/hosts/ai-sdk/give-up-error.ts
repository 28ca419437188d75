import type { GiveUp, GiveUpReason } from "../../session/session-action.ts";

/** Thrown when a request cannot be made to fit; says what was tried and what to do. `cause` is what the provider said first. */
export class GiveUpError extends Error {
  readonly code = "CARRYOVER_GIVE_UP" as const;
  readonly reason: GiveUpReason;

  constructor({ message, reason, error }: GiveUp) {
    super(message, { cause: error });
    this.name = "GiveUpError";
    this.reason = reason;
  }
}
