import type { Format } from "../../transcript/format.ts";
import { type Fields, fields } from "../fields.ts";
import { createLineFormat } from "../transcript-file/create-line-format.ts";
import type { PlacedLine } from "../transcript-file/piece.ts";
import { readLines } from "./read-lines.ts";
import { createLines, writeLine } from "./write-lines.ts";

/** A Gemini CLI session: the one record that older versions write, or the lines of newer ones, each parsed. */
export type GeminiCliWire =
  | readonly unknown[]
  | { readonly messages?: unknown; readonly [field: string]: unknown };

/** Gemini CLI's session files. */
export const geminiCli: Format<GeminiCliWire> = createLineFormat<GeminiCliWire>({
  name: "gemini-cli",
  open,
  read: readLines,
  write: writeLine,
  create: createLines,
  // Its calls hold their results.
  answer: () => [],
  close,
});

function open(wire: GeminiCliWire): readonly unknown[] {
  if (!isLines(wire)) return list(fields(wire).messages);
  const checkpoint = checkpointOf(wire);
  return checkpoint === undefined ? wire : [...checkpoint.messages, ...wire.slice(checkpoint.index + 1)];
}

function close(wire: GeminiCliWire, placed: readonly PlacedLine[]): GeminiCliWire {
  if (!isLines(wire)) return { ...wire, messages: placed.map(({ line }) => line) };
  const checkpoint = checkpointOf(wire);
  if (checkpoint === undefined) return placed.map(({ line }) => line);
  const { index, line, messages } = checkpoint;
  const firstBehind = placed.findIndex(({ origin }) => origin >= messages.length);
  const count = firstBehind === -1 ? placed.length : firstBehind;
  const inside = placed.slice(0, count).map((each) => each.line);
  const set = { ...line, $set: { ...fields(line.$set), messages: inside } };
  return [...wire.slice(0, index), set, ...placed.slice(count).map((each) => each.line)];
}

interface Checkpoint {
  readonly index: number;
  readonly line: Fields;
  readonly messages: readonly unknown[];
}

/** The newest line that says anew what the messages are: nothing before it counts. */
function checkpointOf(lines: readonly unknown[]): Checkpoint | undefined {
  const index = lines.findLastIndex((line) => Array.isArray(fields(fields(line).$set).messages));
  if (index === -1) return undefined;
  const line = fields(lines[index]);
  return { index, line, messages: list(fields(line.$set).messages) };
}

function isLines(wire: GeminiCliWire): wire is readonly unknown[] {
  return Array.isArray(wire);
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
