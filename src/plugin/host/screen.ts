/** What the person in front of the agent sees. No method throws; where there is no screen, nothing happens. */
export interface HostScreen {
  /** Set where a conversation shows nothing of ours, and something else tells of forks: what matters is said in toasts. */
  readonly reach?: "toasts";
  /** Shows a short message for a while, in place of the one before. Returns at once. */
  toast(message: string, tone: ToastTone, options?: { readonly durationMs?: number }): void;
  /** Shows a piece in a conversation, or replaces the one with its key there. It is never sent to the model, nor shown while the user has messages taken back. */
  show(piece: ShownPiece): Promise<"shown" | "not-shown">;
  /** Brings a session to the screen. */
  open(sessionId: string): Promise<"opened" | "not-opened">;
}

export type ToastTone = "info" | "success" | "warning" | "error";

/** Something in a conversation that only people see. */
export type ShownPiece = ShownPlace & (ShownText | ShownLine | ShownChild);

interface ShownPlace {
  readonly sessionId: string;
  readonly key: string;
  /** The tool call that it stands below; unset for the newest answer. */
  readonly callId?: string;
}

/** A text of several lines, as Markdown. */
interface ShownText {
  readonly type: "text";
  readonly text: string;
}

/** One small line: what it is about, and what there is to say. */
interface ShownLine {
  readonly type: "line";
  readonly label: string;
  readonly text: string;
}

/** A child at work, shown as the agent shows sub-agents of its own: with its newest step, and a way to its session. */
interface ShownChild {
  readonly type: "child";
  readonly name: string;
  readonly text: string;
  readonly childSessionId?: string;
  readonly state: "running" | "ended" | "failed";
}
