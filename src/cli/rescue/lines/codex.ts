import { createHash } from "node:crypto";
import { collectCodex } from "../../../formats/files/codex/read-codex-lines.ts";
import type { JsonLine } from "../../../formats/lines/read-json-lines.ts";
import { formatBytes, plural } from "../../../text/format-number.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import {
  type CollectedLines,
  createCounter,
  createMediaRoom,
  type Finding,
  type Keep,
  type KeptLine,
  type NotedError,
  type SessionLines,
} from "./session-lines.ts";

/**
 * The lines of a Codex rollout. Each compaction repeats the whole history in place of which it stands: only the newest
 * that says something is kept, with what follows, so that a file of any size is read in the memory of its window.
 */
export function codexLines(keep: Keep): SessionLines {
  let collected = collectCodex();
  let numbers = new Map<unknown, number>();
  /** What stands before the newest compaction that says something, and behind the one before it. */
  let older: readonly KeptLine[] = [];
  /** Where the session and its model are named. */
  let heads: UnknownObject[] = [];
  let firstType: unknown;
  let firstLine = 0;
  /** The lines since the newest compaction that says something. */
  let seen = new Set<string>();
  const repeated = createCounter();
  const withNewestMedia = createMediaRoom(keep);
  const compactions = { count: 0, chars: 0 };
  let windowTokens: number | undefined;
  let error: NotedError | undefined;

  const keepLine = (line: UnknownObject, lineNumber: number): void => {
    collected.take(line, 0);
    numbers.set(line, lineNumber);
  };

  const keptLines = (): readonly KeptLine[] =>
    collected.lines().map((value) => ({ value, lineNumber: numbers.get(value) ?? 0 }));

  const takeCompaction = (line: UnknownObject, lineNumber: number): void => {
    const payload = asObject(line.payload);
    compactions.count++;
    compactions.chars += textChars(payload);
    error = undefined;
    if (keep !== "all" && saysSomething(payload)) {
      older = keep === "before-compaction" ? keptLines() : [];
      collected = collectCodex();
      numbers = new Map();
      seen = new Set();
      for (const head of heads) keepLine(head, 0);
    }
    // What it repeats of the user's words stands before it too.
    const isVoid = hasNoSummary(payload) && collected.lines().some(isItem);
    const kept = keep === "all" || isVoid ? withoutHistory(line, payload) : withNewestMedia(line);
    keepLine(named(kept, lineNumber), lineNumber);
  };

  return {
    take({ lineNumber, value }: JsonLine): void {
      const line = asObject(value);
      const { type } = line;
      const payload = asObject(line.payload);
      if (firstType === undefined) [firstType, firstLine] = [type ?? "nothing", lineNumber];
      if (type === "event_msg") {
        windowTokens = asNumber(asObject(payload.info).model_context_window) ?? windowTokens;
        if (payload.type === "error") error = { lineNumber, text: asString(payload.message) ?? "" };
        if (payload.type === "thread_rolled_back" && keep === "all") return;
      }
      const key = type === "response_item" ? keyOf(line) : undefined;
      if (key !== undefined && seen.has(key)) {
        repeated.add(lineNumber);
        return;
      }
      if (key !== undefined) seen.add(key);
      if (isAnswer(payload)) error = undefined;
      if (type === "session_meta" || type === "turn_context")
        heads = [...heads.filter((head) => head.type !== type), line];
      if (type === "compacted") takeCompaction(line, lineNumber);
      else keepLine(withNewestMedia(named(line, lineNumber)), lineNumber);
    },
    end(): CollectedLines {
      const { lines, findings } = inOrder([...older, ...keptLines()]);
      return {
        lines,
        findings: [
          ...headFinding(firstType, firstLine),
          ...findings,
          ...repeated.finding({
            problem: "repeated-line",
            severity: "broken",
            text: (repeats) => `${repeats} repeated, which count once here, and twice for the program`,
          }),
          ...sizeFinding(compactions),
        ],
        ...(windowTokens !== undefined && { windowTokens }),
        ...(error && { error }),
      };
    },
  };
}

/** The same for lines that were written at one time and say the same; undefined for one without a time. */
function keyOf({ timestamp, payload }: UnknownObject): string | undefined {
  if (typeof timestamp !== "string") return undefined;
  return `${timestamp} ${createHash("sha1").update(JSON.stringify(payload)).digest("base64")}`;
}

/** Handles name the line, since items have ids of their own only where the provider gave them. */
function named(line: UnknownObject, lineNumber: number): UnknownObject {
  const { carryover } = line;
  if (asString(asObject(carryover).id) !== undefined || asString(asObject(line.payload).id) !== undefined)
    return line;
  return { ...line, carryover: { ...asObject(carryover), id: `line-${lineNumber}` } };
}

function isAnswer({ type, role }: UnknownObject): boolean {
  return (
    (type === "message" && role === "assistant") || type === "function_call" || type === "custom_tool_call"
  );
}

/** False also where only the provider can read what it says: then what stood before counts. */
function saysSomething(payload: UnknownObject): boolean {
  return (
    !hasNoSummary(payload) && (isSaid(payload) || !asArray(payload.replacement_history).some(isEncrypted))
  );
}

/** True where nothing stands for what was said but perhaps the user's own words, and instructions. */
function hasNoSummary(payload: UnknownObject): boolean {
  const { replacement_history: history } = payload;
  if (!Array.isArray(history)) return !isSaid(payload);
  return history.length === 0 || (!isSaid(payload) && history.every(isTyped));
}

function isSaid({ message }: UnknownObject): boolean {
  return (asString(message) ?? "").trim() !== "";
}

function isTyped(item: unknown): boolean {
  const { type, role, content } = asObject(item);
  return type === "message" && role !== "assistant" && !asArray(content).some(isSummaryText);
}

function isSummaryText(part: unknown): boolean {
  return (asString(asObject(part).text) ?? "").startsWith(SUMMARY_START);
}

/** How Codex introduces a summary in the user's name. */
const SUMMARY_START = "Another language model started to solve this problem";

function isItem(line: unknown): boolean {
  return asObject(line).type === "response_item";
}

function isEncrypted(item: unknown): boolean {
  const { type, encrypted_content } = asObject(item);
  return `${type}`.startsWith("compaction") && typeof encrypted_content === "string";
}

/** What a compaction replaced was said before it, and is kept there. */
function withoutHistory(line: UnknownObject, payload: UnknownObject): UnknownObject {
  const { replacement_history: _, ...rest } = payload;
  return { ...line, payload: rest };
}

/**
 * The lines by their time where an output stands before its call. Lines that are only later than those behind them stay:
 * a clock may have been set back.
 */
function inOrder(lines: readonly KeptLine[]): Pick<CollectedLines, "lines" | "findings"> {
  const calls = new Map<string, number>();
  for (const [index, { value }] of lines.entries()) {
    const { type, call_id } = asObject(asObject(value).payload);
    if (typeof call_id === "string" && !`${type}`.endsWith("_output")) calls.set(call_id, index);
  }
  const early = lines.filter(({ value }, index) => {
    const { type, call_id } = asObject(asObject(value).payload);
    return `${type}`.endsWith("_call_output") && index < (calls.get(`${call_id}`) ?? -1);
  });
  const [first] = early;
  if (first === undefined) return { lines, findings: [] };
  let time = "";
  const timed = lines.map((line) => {
    const { type, timestamp, payload } = asObject(line.value);
    // The head stays in front, a line without a time behind the one before it, and an output behind a call of its time.
    time = asString(timestamp) ?? time;
    const isOutput = `${asObject(payload).type}`.endsWith("_output");
    return { line, time: type === "session_meta" ? "" : `${time}${isOutput ? "~" : ""}` };
  });
  const calling = early.length === 1 ? "its call" : "their calls";
  const text = `${plural(early.length, "output")} before ${calling}: the lines are put in the order of their times`;
  return {
    lines: timed
      .sort((one, other) => (one.time < other.time ? -1 : one.time > other.time ? 1 : 0))
      .map(({ line }) => line),
    findings: [{ problem: "broken-chain", severity: "broken", line: first.lineNumber, text }],
  };
}

/** The characters of all texts of a value, without writing it out. */
function textChars(value: unknown): number {
  if (typeof value === "string") return value.length;
  const inner = Array.isArray(value) ? value : Object.values(asObject(value));
  return asArray(inner).reduce<number>((sum, each) => sum + textChars(each), 0);
}

function headFinding(firstType: unknown, line: number): readonly Finding[] {
  if (firstType === undefined || firstType === "session_meta") return [];
  const text = "the file does not begin with session_meta: the program does not open it";
  return [{ problem: "no-head", severity: "broken", line, text }];
}

function sizeFinding({
  count,
  chars,
}: {
  readonly count: number;
  readonly chars: number;
}): readonly Finding[] {
  if (count < 2) return [];
  const text = `${plural(count, "compaction")} with ${formatBytes(chars)} of repeated history, of which only the newest counts`;
  return [{ problem: "huge", severity: chars > HUGE_CHARS ? "broken" : "note", text }];
}

/** The program holds all of it in memory when it resumes. */
const HUGE_CHARS = 64 * 1024 * 1024;
