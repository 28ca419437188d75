import type { Format } from "../../transcript/format.ts";
import { createLineFormat } from "../transcript-file/create-line-format.ts";
import { readLines } from "./read-lines.ts";
import { answerLines, closeLines, createLines, writeLine } from "./write-lines.ts";

/** The lines of a Codex rollout, each parsed. Lines and fields that are not understood are kept as they are. */
export type CodexWire = readonly unknown[];

/** Codex's rollout files: its items without the turns that were rolled back, with its compactions. */
export const codex: Format<CodexWire> = createLineFormat<CodexWire>({
  name: "codex",
  open: (wire) => (Array.isArray(wire) ? wire : []),
  read: readLines,
  write: writeLine,
  create: createLines,
  answer: answerLines,
  close: (wire, placed) => closeLines(wire, placed),
});
