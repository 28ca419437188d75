import { spanText } from "../../tasks/fork-texts.ts";
import type { Colors } from "./colors.ts";
import { type KeptContent, type KeptFile, type PurgePlan, sizeOfPlan, usedAt } from "./purge-plan.ts";
import { renderTable } from "./render-table.ts";
import { counted, shownNumber, shownPath, shownText } from "./shown-text.ts";

export interface PurgeReportInput {
  readonly plan: PurgePlan;
  readonly root: string;
  /** Plugins at work. */
  readonly running: number;
  readonly nowMs: number;
  /** What is counted. */
  readonly unit: PurgeUnit;
  readonly colors: Colors;
}

/** What a thing that is kept is called: in a folder, and in a database. */
export type PurgeUnit = "file" | "item";

/** What would go, with sizes, and what stays because somebody works with it, for a person to read. */
export function purgeReport({ plan, root, running, nowMs, unit, colors }: PurgeReportInput): string {
  const { files, bytes } = sizeOfPlan(plan);
  const ago = (atMs: number): string => `${spanText(Math.max(0, nowMs - atMs))} ago`;
  const sessions = plan.sessions.toSorted((left, right) => usedAt(right) - usedAt(left));
  const more = sessions.length - MAX_SESSIONS;
  const table = renderTable([
    ...sessions
      .slice(0, MAX_SESSIONS)
      .map((session) => [
        shownText(session.id, MAX_NAME_CHARS),
        shownBytes(bytesOf([...session.logs, ...session.forks])),
        counted(session.forks.length, "fork"),
        ago(usedAt(session)),
      ]),
    ...(more > 0 ? [[`and ${counted(more, "session")} more`]] : []),
    ...KINDS.flatMap(([kind, name]) => {
      const those = plan.contents.filter((content) => content.kind === kind);
      return those.length === 0 ? [] : [[name, shownBytes(bytesOf(those)), counted(those.length, unit)]];
    }),
    ...(plan.leftovers.length === 0
      ? []
      : [["other", shownBytes(bytesOf(plan.leftovers)), counted(plan.leftovers.length, unit)]]),
  ]);
  return [
    colors.bold(shownPath(root, MAX_PATH_CHARS)),
    ...(running === 0 ? [] : [`${counted(running, "program")} at work on it`]),
    ...(files === 0 ? ["  nothing"] : [table, `  ${counted(files, unit)}, ${shownBytes(bytes)}`]),
    ...(plan.inUse.length === 0 ? [] : ["", colors.bold("In use, and left alone")]),
    ...plan.inUse.map(
      ({ id, usedBy }) => `  ${shownText(id, MAX_NAME_CHARS)}  ${shownText(usedBy ?? "", MAX_PATH_CHARS)}`,
    ),
  ].join("\n");
}

/** A size as people read it. */
export function shownBytes(bytes: number): string {
  const [unit, name] = UNITS.find(([least]) => bytes >= least) ?? [1, "bytes"];
  return `${unit === 1 ? shownNumber(bytes) : (bytes / unit).toFixed(1)} ${name}`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

const KINDS: readonly (readonly [KeptContent["kind"], string])[] = [
  ["spill", "whole outputs"],
  ["view", "inherited conversations"],
  ["long", "long entries of logs"],
];

const MAX_SESSIONS = 20;
const MAX_NAME_CHARS = 60;
const MAX_PATH_CHARS = 100;

function bytesOf(files: readonly KeptFile[]): number {
  return files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}
