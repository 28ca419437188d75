import type { ForkModel } from "../../fork/life/record.ts";

/** An agent of the host: who speaks in a session, with which rules and model. */
export interface HostAgent {
  readonly name: string;
  /** Offered to nobody. */
  readonly isHidden: boolean;
  /** Chosen by people only; sub-agents do not run as it. */
  readonly isPrimary: boolean;
  /** A rule denies the agent that asks to start it. */
  readonly isDenied?: true;
  /** The model that it always runs on; unset for the model of the session. */
  readonly model?: ForkModel;
}

/** Who wants to start a child. */
export interface AskingAgent {
  readonly sessionId: string;
  readonly agent: string;
}

/** A child that is to be made. */
export interface NewChild {
  readonly rootSessionId: string;
  readonly parentSessionId: string;
  /** The agent that asks for it. */
  readonly caller: string;
  /** The agent that it runs as. */
  readonly agent: string;
  readonly model: ForkModel;
  readonly title: string;
  /** Stored with the session where the agent can, and given back by `get`, `list` and `children`. */
  readonly note: unknown;
}

/** A child, and the agent in its parent that has something to say to it. */
export interface LimitedChild extends Pick<NewChild, "parentSessionId" | "caller" | "agent"> {
  readonly childSessionId: string;
}

/** Whether a sub-agent may be started or spoken to; the reason is for the model. */
export type StartAnswer =
  | { readonly status: "allowed" }
  | { readonly status: "refused"; readonly reason: string };
