import { type FillRows, readRows } from "../../src/stages/lines/rows.ts";
import { type RowScores, scoreRows } from "../../src/stages/lines/score.ts";
import { internWords } from "../../src/stages/lines/words.ts";
import type { Message, Transcript } from "../../src/transcript/message.ts";
import type { Part, ToolPart } from "../../src/transcript/part.ts";
import { deepFreeze } from "./notation.ts";

/** A conversation as the tests of `fill` write it; messages are called m1, m2, … by their place. */
export function talk(...turns: readonly Omit<Message, "id">[]): Transcript {
  return deepFreeze(turns.map((turn, index) => ({ id: `m${index + 1}`, ...turn })));
}

/** What a user said. */
export function user(...parts: readonly (Part | string)[]): Omit<Message, "id"> {
  return { role: "user", parts: parts.map(asPart) };
}

/** What the agent said and did. */
export function agent(...parts: readonly (Part | string)[]): Omit<Message, "id"> {
  return { role: "assistant", parts: parts.map(asPart) };
}

function asPart(part: Part | string): Part {
  return typeof part === "string" ? { type: "text", text: part } : part;
}

/** A call that is over. */
export function call(tool: string, input: unknown, output: string): ToolPart {
  const outcome = { status: "done", output, attachments: [] } as const;
  return { type: "tool", callId: `${tool}-${output.length}`, tool, input, outcome };
}

/** Lines without a name, no two of them with a number in common. */
export function plainLines(words: string, length: number): string {
  return Array.from({ length }, (_, index) => `${words} ${index}`).join("\n");
}

export interface ScoredTalk {
  readonly fill: FillRows;
  readonly scores: RowScores;
  /** The number of the oldest row that reads so, spaces around it aside. */
  row(line: string): number;
  /** What the oldest row that reads so is worth a character. */
  worth(line: string): number;
}

/** A conversation with what its rows are worth. */
export function scored(transcript: Transcript): ScoredTalk {
  const fill = readRows(transcript);
  const scores = scoreRows(fill, internWords(fill));
  const lines = fill.segments.flatMap(({ text, firstRow, endRow }) =>
    Array.from({ length: endRow - firstRow }, (_, index) =>
      text.slice(fill.rows.bodyStart[firstRow + index], fill.rows.end[firstRow + index]).trim(),
    ),
  );
  const row = (line: string): number => {
    const found = lines.indexOf(line);
    if (found === -1) throw new Error(`no row reads ${JSON.stringify(line)}`);
    return found;
  };
  return { fill, scores, row, worth: (line) => scores.density[row(line)] ?? Number.NaN };
}
