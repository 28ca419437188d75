import {
  currentRun,
  deliveryId,
  type EndedRun,
  type ForkRecord,
  forkName,
  isLive,
  workedMs,
} from "../../fork/life/record.ts";
import { quoteChild, quoteReport } from "../../fork/life/report.ts";
import { activityOf, costText, formatSpan } from "../../fork/life/roster.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { headCut } from "../../text/truncate.ts";
import { asObject } from "../../text/unknown-value.ts";
import type { PluginContext } from "../context/context.ts";
import type { ToolCall } from "../host/agent-host.ts";

/**
 * Shows people each fork in the conversation that started it: a line with calls, time, cost and its last step while it runs, and what it
 * reported when it has ended. The model reads none of it.
 */
export interface ShownForks {
  /** Shows what has changed about a fork; a line that only grew older is shown again from time to time. */
  update(record: ForkRecord): void;
  /** Takes what the child of a fork does now; it is shown with the next update. */
  step(forkId: string, call: ToolCall): void;
}

export function createShownForks({ show, now, host }: ShownForksSetup): ShownForks {
  const lines = new Map<string, ShownLine>();
  const steps = createLruMap<string, string>(MAX_STEPS);
  return {
    step: (forkId, call) => void steps.set(forkId, stepText(call, host)),
    update(record) {
      const { number, parentSessionId: sessionId, childSessionId } = record;
      const run = currentRun(record);
      const id = deliveryId(record, run.number);
      const shown = lines.get(id);
      // What had ended before this program began to look was shown by another.
      if (shown === undefined && !isLive(run)) return;
      const text = lineText(record, { nowMs: now(), step: steps.get(record.id) ?? "" });
      const line: ShownLine = { text, state: stateOf(record), atMs: now() };
      if (shown !== undefined && !isWorthShowing(line, shown, run.startedAtMs ?? run.queuedAtMs)) return;
      lines.set(id, line);
      if (run.askedBy !== undefined)
        show({
          type: "child",
          sessionId,
          key: `fork ${id}`,
          callId: run.askedBy.callId,
          name: `fork ${number}`,
          text: line.text,
          ...(childSessionId !== undefined && { childSessionId }),
          state: line.state,
        });
      if (isLive(run)) return;
      lines.delete(id);
      steps.delete(record.id);
      if (run.delivery.closedBy === undefined || run.delivery.closedBy === "read")
        show({ type: "text", sessionId, key: `result ${id}`, text: resultText(record, run) });
    },
  };
}

interface ShownForksSetup extends Pick<PluginContext, "show" | "now"> {
  readonly host: Pick<PluginContext["host"], "directory" | "tools">;
}

/** A line as it was shown last. */
interface ShownLine {
  readonly text: string;
  readonly state: "running" | "ended" | "failed";
  readonly atMs: number;
}

/** Every few seconds at first, more rarely as the fork grows old: each time is a write of the agent. */
function isWorthShowing(line: ShownLine, shown: ShownLine, startedAtMs: number): boolean {
  if (line.state !== shown.state) return true;
  if (line.text === shown.text) return false;
  return line.atMs - shown.atMs >= Math.max(MIN_MS, (line.atMs - startedAtMs) / 30);
}

const MIN_MS = 1_500;

function stateOf(record: ForkRecord): ShownLine["state"] {
  const run = currentRun(record);
  if (isLive(run)) return "running";
  return run.state === "completed" ? "ended" : "failed";
}

function lineText(record: ForkRecord, { nowMs, step }: LineFacts): string {
  const title = quoteChild(record.title, MAX_TITLE_CHARS).replace(/\s+/g, " ") || "untitled";
  const last = isLive(currentRun(record)) && step !== "" ? [step] : [];
  return [title, ...forkFacts(record, nowMs), ...last].join(" · ");
}

interface LineFacts {
  readonly nowMs: number;
  /** What the child did last. */
  readonly step: string;
}

/** What people are told of a fork: what is special about it or how it ended, calls, time, cost. */
export function forkFacts(record: ForkRecord, nowMs: number): readonly string[] {
  const run = currentRun(record);
  return [
    isLive(run) ? activityText(record, nowMs) : run.state,
    countText(run.calls.total, "call"),
    formatSpan(run.startedAtMs === undefined ? nowMs - run.queuedAtMs : workedMs(run, nowMs)),
    ...costText(record),
  ].filter((fact) => fact !== "");
}

/** What is special about a run that is not over; nothing where it just works. */
function activityText(record: ForkRecord, nowMs: number): string {
  const run = currentRun(record);
  if (!isLive(run)) return "";
  if (run.state !== "running") return run.state;
  const activity = activityOf(run, nowMs);
  return activity === "active" ? "" : activity === "waiting-permission" ? "asks for a permission" : activity;
}

/** A call in a few words: the tool, and the file that it writes or the first text that it was given. */
function stepText({ tool, input }: ToolCall, { directory, tools }: ShownForksSetup["host"]): string {
  const texts = Object.values(asObject(input)).filter((value) => typeof value === "string");
  const [about = ""] = [...tools.writtenFiles(tool, input), ...texts];
  const step = `${tool} ${about.slice(0, MAX_READ_CHARS).replaceAll(`${directory}/`, "")}`;
  const text = quoteChild(step, Number.POSITIVE_INFINITY).replace(/\s+/g, " ").trim();
  return text.length <= MAX_STEP_CHARS ? text : `${text.slice(0, headCut(text, MAX_STEP_CHARS - 1))}…`;
}

function resultText(record: ForkRecord, run: EndedRun): string {
  const { head, body } = shownResult(record, run);
  return `**Carryover: ${head}**\n\n${body.replace(/^/gm, "> ")}`;
}

/** How a fork ended, in a line, and what it reported, or both ends of that, for people. */
export function shownResult(record: ForkRecord, run: EndedRun): ShownResult {
  const title = quoteChild(record.title, MAX_TITLE_CHARS).replace(/\s+/g, " ");
  const error = run.error === undefined ? [] : [quoteChild(run.error.message, MAX_ERROR_CHARS)];
  const text = quoteReport(run, MAX_RESULT_CHARS).text || "(no report)";
  return { head: `${forkName({ ...record, title })} ${run.state}`, body: [...error, text].join("\n\n") };
}

interface ShownResult {
  readonly head: string;
  readonly body: string;
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const MAX_TITLE_CHARS = 60;
const MAX_STEP_CHARS = 50;
const MAX_STEPS = 1_024;
/** Of a text that may be a whole file. */
const MAX_READ_CHARS = 1_000;
const MAX_ERROR_CHARS = 300;
const MAX_RESULT_CHARS = 3_000;
