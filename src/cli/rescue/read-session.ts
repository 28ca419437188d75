import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { detectFormat } from "../../formats/detect-format.ts";
import { type JsonLine, type LineProblem, readJsonLines } from "../../formats/lines/read-json-lines.ts";
import { closeCutJson, salvageRecords, spreadRecords } from "../../formats/lines/salvage.ts";
import { formatOf } from "../../formats/read-transcript.ts";
import type { FormatName, SessionFormatName } from "../../formats/registry.ts";
import { sessionFactsOf } from "../../formats/session-facts.ts";
import { plural } from "../../text/format-number.ts";
import { asObject, omitUndefined } from "../../text/unknown-value.ts";
import type { Transcript } from "../../transcript/message.ts";
import { checkMemory, type InputFile, readBytes, readInput } from "../files/read-input.ts";
import { inUtf8 } from "../files/text-encoding.ts";
import { packingOfFile, unpack } from "../files/unpack.ts";
import { BROKEN_PACKING, cannotRead } from "../files/unreadable.ts";
import { EmptySession } from "../sessions/open-session.ts";
import { CliError } from "../terminal/cli-error.ts";
import { claudeCodeLines } from "./lines/claude-code.ts";
import { codexLines } from "./lines/codex.ts";
import { piLines } from "./lines/pi.ts";
import type { CollectedLines, Finding, Keep, KeptLine, SessionLines } from "./lines/session-lines.ts";

/** A session as far as it could be read, whatever is wrong with its file. */
export interface ReadSession extends Omit<CollectedLines, "lines"> {
  readonly path: string;
  readonly format: FormatName;
  readonly transcript: Transcript;
  readonly sizeBytes: number;
  /** Lines of the file; unset for one that is a single value. */
  readonly lineCount?: number;
  readonly sessionId?: string;
  /** The folder of the project, where it is named. */
  readonly cwd?: string;
  /** The line of a message or a call by its id. */
  lineOf(id: string): number | undefined;
}

/**
 * Reads a session line by line and mends what stands in the way: what is damaged is passed over and reported, missing
 * links are put in. Memory is bounded by what is kept, not by the file. A file that is one value is read as it is.
 */
export async function readSession(path: string, keep: Keep): Promise<ReadSession> {
  try {
    return await readFileOf(path, keep);
  } catch (error) {
    const isSystem =
      !(error instanceof CliError) && typeof (error as NodeJS.ErrnoException).code === "string";
    throw isSystem ? cannotRead(path, error as NodeJS.ErrnoException) : error;
  }
}

async function readFileOf(path: string, keep: Keep): Promise<ReadSession> {
  const { size: sizeBytes } = await stat(path).catch(() => ({ size: 0 }));
  if (keep === "all") checkMemory(path, sizeBytes);
  const problems: DamagedLine[] = [];
  const packing = await packingOfFile(path);
  const cut: Finding[] = [];
  const bytes = watchBytes(readablePrefix(unpack(createReadStream(path), packing), cut));
  const head: JsonLine[] = [];
  let format: FormatName | undefined;
  let lines: SessionLines | undefined;
  let lineCount = 0;
  let salvaged: JsonLine[] = [];
  const onProblem = (problem: LineProblem, text: string): void => {
    const { lineNumber } = problem;
    const records = salvageRecords(text);
    salvaged.push(...records.map((value) => ({ lineNumber, value })));
    if (problems.length < MAX_PROBLEMS) problems.push({ ...problem, records: records.length });
    lineCount = Math.max(lineCount, lineNumber);
  };
  const takeBatch = (batch: readonly JsonLine[]): void => {
    const all = salvaged.length === 0 ? batch : [...batch, ...salvaged].sort(byLine);
    salvaged = [];
    for (const line of all) takeLine(line);
  };
  const takeLine = (line: JsonLine): void => {
    lineCount = Math.max(lineCount, line.lineNumber);
    if (lines !== undefined) {
      lines.take(line);
      return;
    }
    if (head.length >= SAMPLE_LINES) return;
    head.push(line);
    const detected = detectFormat({ type: "lines", lines: [line.value, undefined] });
    const create = (COLLECTORS as Readonly<Record<string, Create | undefined>>)[detected.format];
    if (create === undefined || detected.format === "unknown") return;
    format = detected.format;
    lines = create(keep, sessionIdOf(path));
    for (const each of head) lines.take(each);
  };
  for await (const batch of readJsonLines(bytes.source, { onProblem })) takeBatch(batch);
  takeBatch([]);
  if (lines === undefined && problems.length > 0) {
    const records = spreadRecords(await unpackedText(path));
    if (records.length > 1) {
      problems.length = 0;
      head.length = 0;
      for (const record of records) takeLine(record);
      cut.push(SPREAD);
    }
  }
  if (lines === undefined || format === undefined) {
    if (cut.length + problems.length === 0 && head.every(isNote)) throw new EmptySession(NOTHING_SAID(path));
    return readWhole(path, sizeBytes);
  }
  const { lines: kept, findings, ...rest } = lines.end();
  const { sessionId, workingDirectory: cwd } = sessionFactsOf(head.map(({ value }) => value));
  const wire = kept.map(({ value }) => value);
  return {
    ...rest,
    path,
    format,
    sizeBytes,
    lineCount,
    transcript: formatOf(format).decode(wire),
    findings: [...cut, ...bytes.findings(), ...damageOf(problems, lineCount), ...findings],
    ...omitUndefined({ sessionId: sessionIdOf(path) ?? sessionId, cwd }),
    lineOf: lineIndex(kept),
  };
}

/** True for a line that is about a session and says nothing, as an agent writes them before anything is said. */
function isNote({ value }: JsonLine): boolean {
  const { type, message, payload, content } = asObject(value);
  return typeof type === "string" && message === undefined && payload === undefined && content === undefined;
}

const NOTHING_SAID = (path: string): string => `${path} has no message that could be read`;

const byLine = (one: JsonLine, other: JsonLine): number => one.lineNumber - other.lineNumber;

/** A line that is none, and how many records were found in it all the same. */
interface DamagedLine extends LineProblem {
  readonly records: number;
}

type Create = (keep: Keep, sessionId: string | undefined) => SessionLines;

/** How a session is looked through line by line; of the others the whole file is read. */
const COLLECTORS: Readonly<Record<SessionFormatName, Create | undefined>> = {
  "claude-code": claudeCodeLines,
  codex: codexLines,
  pi: piLines,
  opencode: undefined,
  opencode2: undefined,
  "gemini-cli": undefined,
  "swe-agent": undefined,
};

/** How many lines are looked at before a file that begins with unknown ones is read as a single value. */
const SAMPLE_LINES = 200;
const MAX_PROBLEMS = 10_000;

const SPREAD: Finding = {
  problem: "damaged-line",
  severity: "broken",
  text: "records stand over several lines, as a formatter writes them: the program reads one from each line",
};

/** The text of a file as far as it can be unpacked. */
async function unpackedText(path: string): Promise<string> {
  const decoder = new TextDecoder();
  const bytes = readablePrefix(unpack(createReadStream(path), await packingOfFile(path)), []);
  let text = "";
  for await (const chunk of bytes) text += decoder.decode(chunk, { stream: true });
  return text;
}

async function readWhole(path: string, sizeBytes: number): Promise<ReadSession> {
  const { file, cut } = await readInput(path).then(
    (whole) => ({ file: whole, cut: [] }),
    (error: unknown) => readCut(path, withoutAdvice(error)),
  );
  const { format, transcript, sessionId, workingDirectory: cwd, warnings } = file;
  const findings = [
    ...cut,
    ...warnings.map((text): Finding => ({ problem: "damaged-line", severity: "note", text })),
  ];
  return {
    path,
    format,
    transcript,
    sizeBytes,
    findings,
    lineOf: () => undefined,
    ...omitUndefined({ sessionId, cwd }),
  };
}

/** Who is told to take `rescue` where a packing is broken has taken it already. */
function withoutAdvice(error: unknown): unknown {
  const { code } = asObject(error instanceof CliError ? error.cause : undefined);
  if (!(error instanceof CliError) || code !== BROKEN_PACKING) return error;
  return new CliError(error.message, ["Nothing of it can be unpacked."], { cause: error.cause });
}

/** A single value that ends in the middle, as far as messages and their parts are whole. */
async function readCut(
  path: string,
  error: unknown,
): Promise<{ readonly file: InputFile; readonly cut: readonly Finding[] }> {
  const closed = existsSync(path) ? closeCutJson(await unpackedText(path)) : undefined;
  const file =
    closed === undefined ? undefined : await readBytes(Buffer.from(closed), path).catch(() => undefined);
  if (file === undefined || file.transcript.length === 0) throw error;
  const text = `the file ends in the middle: ${plural(file.transcript.length, "message")} could be read, what came after is lost`;
  return { file, cut: [{ problem: "damaged-line", severity: "broken", text }] };
}

/** What can be unpacked of a file that is cut or damaged, and a note of that. */
async function* readablePrefix(
  source: AsyncIterable<Uint8Array>,
  findings: Finding[],
): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== BROKEN_PACKING) throw error;
    const text = `${message}: what stands before that is read, and what comes after it is lost`;
    findings.push({ problem: "damaged-line", severity: "broken", text });
  }
}

/** The same bytes; notes a byte-order mark and the first place that is no UTF-8. */
function watchBytes(source: AsyncIterable<Uint8Array>): {
  readonly source: AsyncIterable<Uint8Array>;
  findings(): readonly Finding[];
} {
  const findings: Finding[] = [];
  async function* watched(): AsyncGenerator<Uint8Array> {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let line = 1;
    let isUtf8 = true;
    const onMark = (mark: "utf-8" | "utf-16"): unknown =>
      findings.push(mark === "utf-8" ? BYTE_ORDER_MARK : UTF_16);
    for await (const chunk of inUtf8(source, onMark)) {
      if (isUtf8) {
        try {
          decoder.decode(chunk, { stream: true });
          line += newlinesIn(chunk);
        } catch {
          isUtf8 = false;
          findings.push({
            problem: "not-utf8",
            severity: "note",
            line: line + placeOf(chunk),
            text: NOT_UTF8,
          });
        }
      }
      yield chunk;
    }
  }
  return { source: watched(), findings: () => findings };
}

const BYTE_ORDER_MARK: Finding = {
  problem: "byte-order-mark",
  severity: "broken",
  line: 1,
  text: "the file begins with a byte-order mark, which programs take for a part of the first line",
};
const UTF_16: Finding = {
  problem: "not-utf8",
  severity: "broken",
  line: 1,
  text: "the file is UTF-16, as some shells write it, which programs do not read",
};
const NOT_UTF8 = "bytes that are no UTF-8; they are read as �";

function newlinesIn(chunk: Uint8Array): number {
  let count = 0;
  for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, at + 1)) count++;
  return count;
}

/** In how many lines of a chunk the first broken byte comes. */
function placeOf(chunk: Uint8Array): number {
  let start = 0;
  for (let lines = 0; ; lines++) {
    const end = chunk.indexOf(0x0a, start);
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(chunk.subarray(start, end === -1 ? undefined : end));
    } catch {
      // The first piece may be the rest of a character that began in the chunk before.
      if (start > 0 || lines > 0 || end === -1) return lines;
    }
    if (end === -1) return lines;
    start = end + 1;
  }
}

/** Broken lines, one by one as long as they are few. */
function damageOf(problems: readonly DamagedLine[], lineCount: number): readonly Finding[] {
  const findings = problems.slice(0, MAX_LISTED).map(({ lineNumber, problem, text, records }): Finding => {
    // The half of a line that is being written is no reason to leave the session.
    const severity = problem === "torn" && lineNumber >= lineCount ? "note" : "broken";
    const found = records === 0 ? "" : `; ${plural(records, "record")} in it could be read`;
    return {
      problem: "damaged-line",
      severity,
      line: lineNumber,
      text: `${DAMAGE[problem]}: ${text}${found}`,
    };
  });
  const more = problems.length - findings.length;
  const next = problems[MAX_LISTED];
  if (next === undefined) return findings;
  const text = `${more} more damaged lines`;
  return [...findings, { problem: "damaged-line", severity: "broken", line: next.lineNumber, text }];
}

const MAX_LISTED = 8;

const DAMAGE: Readonly<Record<LineProblem["problem"], string>> = {
  torn: "not written to its end",
  "nul-bytes": "zeroed",
  "not-json": "cut or overwritten",
  "too-long": "too long",
};

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

/** The id of a session by the name of its file. */
function sessionIdOf(path: string): string | undefined {
  return UUID.exec(basename(path))?.[0];
}

function lineIndex(kept: readonly KeptLine[]): (id: string) => number | undefined {
  let index: Map<string, number> | undefined;
  return (id) => {
    index ??= indexOf(kept);
    return index.get(id);
  };
}

function indexOf(kept: readonly KeptLine[]): Map<string, number> {
  const index = new Map<string, number>();
  for (const { value, lineNumber } of kept) {
    const { uuid, id, message, payload, carryover } = asObject(value);
    const { id: messageId, content } = asObject(message);
    const { id: itemId, call_id } = asObject(payload);
    const blocks = Array.isArray(content) ? content.map(asObject) : [];
    const names = [
      uuid,
      id,
      messageId,
      itemId,
      call_id,
      asObject(carryover).id,
      asObject(message).toolCallId,
    ];
    for (const block of blocks) names.push(block.id, block.tool_use_id);
    for (const name of names) if (typeof name === "string" && !index.has(name)) index.set(name, lineNumber);
  }
  return index;
}
