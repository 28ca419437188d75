import type { UnknownObject } from "../../text/unknown-value.ts";
import type { Format } from "../../transcript/format.ts";
import type { AgentPlace } from "../places.ts";
import type { StartWords } from "./command-line.ts";

/** An agent whose sessions are files, and whose own program can go on with one. */
export interface FileAgent {
  readonly name: "claude-code" | "codex" | "pi";
  readonly format: Format<readonly unknown[]>;
  /** Where a text of the user begins that the agent wrote in the user's name; unset where it writes none. */
  readonly addedByAgent?: RegExp;
  /** The file of a session, or without an id of the newest; undefined where there is none. */
  findSession(sessionId: string | undefined, place: AgentPlace): Promise<string | undefined>;
  /** A line of a session's file as its format reads it, where that passes over what a hook of ours has added; unset for as it is. */
  readonly readLine?: (line: object) => object;
  /** The lines of a session as it sends them now, where others of them edit some. */
  readonly sentLines?: (lines: readonly unknown[]) => readonly unknown[];
  /** The ids of the answers with which turns ended, where the format does not say it. */
  readonly turnEnds?: (lines: readonly unknown[]) => ReadonlySet<string>;
  readonly child: ChildProgram;
}

/** How the agent's own program runs as the child of a fork. */
export interface ChildProgram {
  /** Set where we run inside the agent, which then tells itself of results: the words that start its program. */
  readonly program?: readonly [string, ...string[]];
  readonly command: string;
  /** The variable that names the program where it is not on the `PATH`. */
  readonly variable: string;
  isProgram(path: string): boolean;
  /** What the agent's process says of itself in its environment, which is not true of a child. */
  readonly ownVariables?: RegExp;
  /** The place of a new session. */
  sessionFile(session: { readonly id: string; readonly atMs: number }, place: AgentPlace): string;
  /** A line that holds a text of the user, for `decode`. */
  textLine(text: string): object;
  /** What a child may do at most when this session starts it; a text says why it may start none. */
  rightsOf(parent: ParentSession): ChildRights | string;
  /** The arguments that go on with a session by a prompt on stdin, with events on stdout. */
  resume(run: {
    readonly sessionId: string;
    readonly rights: ChildRights;
    readonly maxUSD?: number;
  }): string[];
  readEvent(line: UnknownObject): readonly ChildEvent[];
}

/** A session that starts a child, as its agent shows it. */
export interface ParentSession {
  readonly lines: readonly unknown[];
  readonly startedWith: StartWords | undefined;
  /** The permission mode in which the call was made, where a hook was told it. */
  readonly mode: string | undefined;
}

/** What a child is held to: arguments of its program, and how much they allow compared with others. */
export interface ChildRights {
  readonly rank: number;
  readonly args: readonly string[];
  /** What the parent's process and its children may cost together; unset where it was given no limit. */
  readonly maxUSD?: number;
  /** For people. */
  readonly label: string;
}

/** What a child's program says that it does. */
export type ChildEvent =
  | { readonly type: "call"; readonly callId: string; readonly tool: string; readonly input: unknown }
  /** Since the beginning of the session, as far as the program knows. */
  | { readonly type: "spent"; readonly costUSD?: number; readonly tokens: number }
  | { readonly type: "failed"; readonly message: string };
