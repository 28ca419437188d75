import type { Format } from "../../transcript/format.ts";
import { createLineFormat } from "../transcript-file/create-line-format.ts";
import { readLines } from "./read-lines.ts";
import { answerLines, closeLines, createLines, writeLine } from "./write-lines.ts";

/** The lines of a pi session file, each parsed. Lines and fields that are not understood are kept as they are. */
export type PiWire = readonly unknown[];

/** pi's session files, of all versions: the branch that ends with the newest line, with its compactions. */
export const pi: Format<PiWire> = createLineFormat<PiWire>({
  name: "pi",
  open: (wire) => (Array.isArray(wire) ? wire : []),
  read: readLines,
  write: writeLine,
  create: createLines,
  answer: answerLines,
  close: (wire, placed) => closeLines(wire, placed),
});
