import type { Transcript } from "../transcript/message.ts";

/** A way to carry a conversation over as text: what it keeps of a transcript within a budget. */
export interface EvalPolicy {
  readonly name: string;
  /** One line that says what stays. */
  readonly explain: string;
  readonly run: EvalPolicyRun;
}

/** Gives at most `budgetChars` characters (UTF-16 units) of a transcript, whose messages it must not change. */
export type EvalPolicyRun = (transcript: Transcript, budgetChars: number) => string;
