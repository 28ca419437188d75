import type { SessionFormatName } from "../formats/registry.ts";
import { omitUndefined } from "../text/unknown-value.ts";
import type { OfferedTools } from "./tool-calls.ts";
import { writeOpenCode, writeOpenCode2 } from "./writers/opencode.ts";
import {
  type SessionHead,
  type Turn,
  writeClaudeCode,
  writeCodex,
  writePi,
} from "./writers/session-files.ts";

/** A session format in which a session can be handed over. */
export type HandoffTarget = Extract<
  SessionFormatName,
  "claude-code" | "codex" | "opencode" | "opencode2" | "pi"
>;

/** An agent that a session can be handed to. */
interface Receiver {
  /** As the program offered them in requests that were recorded; what is behind a search for tools is not counted. */
  readonly tools: OfferedTools;
  /** The text of its session file. */
  readonly write: (turns: readonly Turn[], head: SessionHead) => string;
}

/** A record of each agent that can go on with a session of another. */
export const RECEIVERS: Readonly<Record<HandoffTarget, Receiver>> = {
  "claude-code": {
    tools: {
      run: ({ command }) => ["Bash", { command }],
      read: ({ path, offset, limit }) => ["Read", omitUndefined({ file_path: path, offset, limit })],
      write: ({ path, content }) => ["Write", { file_path: path, content }],
      edit: ({ path, before, after }) => ["Edit", { file_path: path, old_string: before, new_string: after }],
    },
    write: (turns, head) => linesText(writeClaudeCode(turns, head)),
  },
  codex: {
    tools: { run: ({ command }) => ["exec_command", { cmd: command }] },
    write: (turns, head) => linesText(writeCodex(turns, head)),
  },
  opencode: {
    tools: {
      run: ({ command }) => ["bash", { command, description: command.slice(0, 60) }],
      read: ({ path, offset, limit }) => ["read", omitUndefined({ filePath: path, offset, limit })],
      write: ({ path, content }) => ["write", { filePath: path, content }],
      edit: ({ path, before, after }) => ["edit", { filePath: path, oldString: before, newString: after }],
    },
    write: (turns, head) => `${JSON.stringify(writeOpenCode(turns, head))}\n`,
  },
  opencode2: {
    tools: {
      run: ({ command }) => ["shell", { command }],
      read: ({ path, offset, limit }) => ["read", omitUndefined({ path, offset, limit })],
      write: ({ path, content }) => ["write", { path, content }],
      edit: ({ path, before, after }) => ["edit", { path, oldString: before, newString: after }],
    },
    write: (turns, head) => `${JSON.stringify(writeOpenCode2(turns, head))}\n`,
  },
  pi: {
    tools: {
      run: ({ command }) => ["bash", { command }],
      read: ({ path, offset, limit }) => ["read", omitUndefined({ path, offset, limit })],
      write: ({ path, content }) => ["write", { path, content }],
      edit: ({ path, before, after }) => ["edit", { path, edits: [{ oldText: before, newText: after }] }],
    },
    write: (turns, head) => linesText(writePi(turns, head)),
  },
};

function linesText(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}
