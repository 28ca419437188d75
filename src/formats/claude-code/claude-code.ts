import type { Format } from "../../transcript/format.ts";
import { createLineFormat } from "../transcript-file/create-line-format.ts";
import { readLines } from "./read-lines.ts";
import { answerLines, closeLines, createLines, writeLine } from "./write-lines.ts";

/** The lines of a Claude Code session file, each parsed. Lines and fields that are not understood are kept as they are. */
export type ClaudeCodeWire = readonly unknown[];

/** Claude Code's session files: the live branch, with its compactions; sub-agents and rewound branches stay in the file. */
export const claudeCode: Format<ClaudeCodeWire> = createLineFormat<ClaudeCodeWire>({
  name: "claude-code",
  open: (wire) => (Array.isArray(wire) ? wire : []),
  read: readLines,
  write: writeLine,
  create: createLines,
  answer: answerLines,
  close: (wire, placed) => closeLines(wire, placed),
});
