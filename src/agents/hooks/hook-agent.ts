import type { WholeOutput } from "../../plugin/host/agent-host.ts";
import type { UnknownObject } from "../../text/unknown-value.ts";
import type { StartWords } from "../files/command-line.ts";
import type { FileAgent } from "../files/file-agent.ts";
import type { AgentPlace } from "../places.ts";

/** What an agent says to a process of ours at its moments, and what it takes for an answer. */
export interface HookWords {
  readonly name: "claude-code" | "codex";
  /** The output of a finished call; undefined for one that stays as it is. */
  readOutput(payload: UnknownObject): HookOutput | undefined;
  /** Text that stands before the model from now on. */
  addContext(event: string, text: string): string;
  /** How much of it one hook may say, and how many hooks of one moment there are. */
  readonly context: { readonly maxChars: number; readonly hooks: number };
  /** Text for the agent's request for a summary; unset where it takes none. */
  readonly instructSummary?: (text: string) => string;
}

/** An agent that starts a process of ours at its moments, as facts. Most moments need only its words, and load no more. */
export interface HookAgent extends HookWords, FileAgent {
  readonly name: HookWords["name"];
  /** The part of a session's lines that is sent to the model now. */
  windowOf(lines: readonly unknown[]): readonly unknown[];
  /** The session that calls a tool of ours. */
  callingSession(call: CallingTool, place: AgentPlace): Promise<string | undefined>;
  /** The folder in which the agent keeps whole outputs of a session, by the session's file; unset where it keeps none. */
  readonly outputFolder?: (sessionFile: string) => string;
  /** Whether a person sees what is going on. */
  isAttended(env: AgentPlace["env"], started: StartWords | undefined): boolean;
}

/** What an agent says beside the arguments of a call over MCP. */
export interface CallingTool {
  readonly meta: UnknownObject;
}

/** A tool output as the agent would show it to the model, and the way to show another text. */
export interface HookOutput {
  readonly tool: string;
  readonly callId: string;
  readonly text: string;
  whole(): Promise<WholeOutput>;
  /** The agent's own file with all of it, where there is one. */
  readonly path?: string;
  /** See `FinishedTool`. */
  readonly noticeChars?: number;
  readonly maxBytes?: number;
  /** The answer that replaces it, once the whole was asked for; undefined where it must stay. */
  replace(text: string): string | undefined;
}

/** Whether an output may be too long, looked at without loading what trims it: most outputs are short. */
export function mayBeTooLong({ text, noticeChars }: Pick<HookOutput, "text" | "noticeChars">): boolean {
  if (noticeChars !== undefined || text.length > SHORT_UNITS) return true;
  let lines = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines > SHORT_LINES;
}

/** No text of so many units has more bytes, nor one of so many breaks more lines, than the default limits leave whole. */
const SHORT_UNITS = 17_000;
const SHORT_LINES = 2_000;

/** What a person types for a report of ours. */
export const REPORT_COMMAND: RegExp = /^\/carryover:(context|cost)\b/;
