import type { Format } from "../../transcript/format.ts";
import { fields } from "../fields.ts";
import { createLineFormat } from "../transcript-file/create-line-format.ts";
import type { LineReading, PlacedLine } from "../transcript-file/piece.ts";
import { readLines } from "./read-lines.ts";
import { answerLines, createLines, writeLine } from "./write-lines.ts";

/** What SWE-agent writes about a run. */
export interface SweAgentWire {
  readonly history?: unknown;
  readonly trajectory?: unknown;
  readonly [field: string]: unknown;
}

/** SWE-agent's trajectories, read from their history; a step whose message was edited leaves the trajectory. */
export const sweAgent: Format<SweAgentWire> = createLineFormat<SweAgentWire>({
  name: "swe-agent",
  open: (wire) => [...list(fields(wire).history), ...list(fields(wire).trajectory)],
  read: readLines,
  write: writeLine,
  create: createLines,
  answer: answerLines,
  close: closeRun,
});

function closeRun(wire: SweAgentWire, placed: readonly PlacedLine[]): SweAgentWire {
  const count = list(wire.history).length;
  const entries = placed.filter(({ origin }) => origin < count);
  const steps = placed.filter(({ origin }) => origin >= count);
  const before = readLines(list(wire.history)).map(isResult);
  const isNow = readLines(entries.map(({ line }) => line)).map(isResult);
  return {
    ...wire,
    history: entries.map(({ line, origin }, index) =>
      // With the entry between them gone, what the user said would be read as what the action gave.
      isNow[index] && (origin === -1 ? !("tool_call_ids" in fields(line)) : !before[origin])
        ? noObservation(line)
        : line,
    ),
    ...(wire.trajectory === undefined ? {} : { trajectory: steps.map(({ line }) => line) }),
  };
}

function isResult(readings: readonly LineReading[]): boolean {
  return readings[0]?.pieces[0]?.half === "result";
}

function noObservation(line: unknown): object {
  const { carryover } = fields(line);
  return { ...fields(line), carryover: { ...fields(carryover), observes: false } };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
