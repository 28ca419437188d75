import type { Format } from "../../transcript/format.ts";
import { fields } from "../fields.ts";
import { createLineFormat } from "../transcript-file/create-line-format.ts";
import { isStep, readLines } from "./read-lines.ts";
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
  close(wire, placed) {
    const isOfTrajectory = ({ line, origin }: { line: unknown; origin: number }): boolean =>
      origin >= list(wire.history).length || (origin === -1 && isStep(fields(line)));
    return {
      ...wire,
      history: placed.filter((each) => !isOfTrajectory(each)).map(({ line }) => line),
      ...(wire.trajectory === undefined
        ? {}
        : { trajectory: placed.filter(isOfTrajectory).map(({ line }) => line) }),
    };
  },
});

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
