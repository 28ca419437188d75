import { collectCodex } from "../../../formats/files/codex/read-lines.ts";
import type { JsonLine } from "../../../formats/lines/read-json-lines.ts";
import { formatBytes, plural } from "../../../text/display.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../../text/json.ts";
import {
  type CollectedLines,
  type Finding,
  type Keep,
  type KeptLine,
  type NotedError,
  type SessionLines,
  withoutMedia,
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
  const compactions = { count: 0, chars: 0 };
  let windowTokens: number | undefined;
  let error: NotedError | undefined;

  const keepLine = (line: UnknownObject, lineNumber: number): void => {
    collected.take(line);
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
      for (const head of heads) keepLine(head, 0);
    }
    const kept = keep === "all" ? withoutHistory(line, payload) : asObject(withoutMedia(line));
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
      if (isAnswer(payload)) error = undefined;
      if (type === "session_meta" || type === "turn_context")
        heads = [...heads.filter((head) => head.type !== type), line];
      if (type === "compacted") takeCompaction(line, lineNumber);
      else keepLine(asObject(withoutMedia(named(line, lineNumber))), lineNumber);
    },
    end(): CollectedLines {
      return {
        lines: [...older, ...keptLines()],
        findings: [...headFinding(firstType, firstLine), ...sizeFinding(compactions)],
        ...(windowTokens !== undefined && { windowTokens }),
        ...(error && { error }),
      };
    },
  };
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

function saysSomething({ message, replacement_history }: UnknownObject): boolean {
  if (Array.isArray(replacement_history)) return replacement_history.length > 0;
  return (asString(message) ?? "").trim() !== "";
}

/** What a compaction replaced was said before it, and is kept there. */
function withoutHistory(line: UnknownObject, payload: UnknownObject): UnknownObject {
  const { replacement_history: _, ...rest } = payload;
  return { ...line, payload: rest };
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
