import { clipLine, ELLIPSIS, oneLine } from "../../text/clip.ts";
import { FENCED_TAGS, fenceData } from "../../text/fence.ts";
import { safeJson } from "../../text/json.ts";
import { normalizeText, normalizeTypedText } from "../../text/normalize.ts";
import { type RedactOptions, redactSecrets } from "../../text/secrets/redact-secrets.ts";
import { estimateInterval, estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import { headCut, tailCut, truncationMarker } from "../../text/truncate.ts";
import { describeFile, handleOf, isCleared } from "../../transcript/content.ts";
import type { Handle } from "../../transcript/edit.ts";
import { isVisibleToModel, type Message, type MessageId, type Transcript } from "../../transcript/message.ts";
import { CLEARED_PLACEHOLDER, type FilePart, type Part, type ToolPart } from "../../transcript/part.ts";

/** Texts as they may stand in a request for a summary or in a summary: normalized, then without secrets. */
export interface TextCleaner {
  /** What a person typed: changed as little as possible. */
  typed(text: string): string;
  /** What programs and models wrote. */
  data(text: string): string;
  /** The same on one line of at most so many characters. */
  line(text: string, maxChars: number): string;
}

/** How secrets are found; `off` leaves them in the texts. */
export type SecretRedaction = RedactOptions | "off";

/** The cleaner that all texts of one compaction go through. */
export function createTextCleaner(redaction: SecretRedaction = {}): TextCleaner {
  const redact = (text: string): string => (redaction === "off" ? text : redactSecrets(text, redaction));
  const data = (text: string): string => redact(normalizeText(text));
  return {
    typed: (text) => redact(normalizeTypedText(text)),
    data,
    line: (text, maxChars) => clipLine(data(text), maxChars),
  };
}

/** The elements that frame texts in a request and in a summary. */
export const SUMMARY_TAGS: readonly string[] = [
  ...FENCED_TAGS,
  "current_turn",
  "user_words",
  "pinned",
  "carried_facts",
];

/** A text that can neither open nor close one of these elements. */
export function fenceQuote(text: string): string {
  return fenceData(text, SUMMARY_TAGS);
}

/** A handle as it stands in a summary: one short line, fenced. */
export function handleLabel(handle: Handle): string {
  return fenceQuote(clipLine(normalizeText(handle), 120));
}

/** One readable piece of a message, cleaned once for everything that reads it. */
export interface TextPiece {
  readonly message: Message;
  readonly handle: Handle;
  readonly type: TextPieceType;
  /** The tool, where the piece is its input or its result. */
  readonly tool?: string;
  readonly text: string;
}

/** `typed` is what the user wrote, `program` what a program wrote in the user's name. */
export type TextPieceType = keyof typeof LABELS | "file";

/** What the model can read of some messages, piece by piece. Reasoning, hidden and ignored parts say nothing. */
export function piecesOf(messages: Transcript, cleaner: TextCleaner): readonly TextPiece[] {
  const pieces: TextPiece[] = [];
  for (const message of messages) {
    if (!isVisibleToModel(message)) continue;
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.agentVisible === false) continue;
      const at = { message, handle: handleOf(message, partIndex) };
      for (const piece of readPart(message, part, cleaner)) pieces.push({ ...at, ...piece });
    }
  }
  return pieces;
}

type PieceText = Pick<TextPiece, "type" | "tool" | "text">;

function readPart(message: Message, part: Part, cleaner: TextCleaner): readonly PieceText[] {
  switch (part.type) {
    case "text": {
      if (part.ignored || part.own) return [];
      const type = textType(message, part.synthetic === true);
      const text = type === "typed" ? cleaner.typed(part.text) : cleaner.data(part.text);
      return text.trim() === "" ? [] : [{ type, text }];
    }
    case "tool":
      return readTool(part, cleaner);
    case "file":
      return [{ type: "file", text: fileLabel(part, cleaner) }];
    case "reasoning":
    case "compaction":
    case "opaque":
      return [];
    default:
      part satisfies never;
      return [];
  }
}

function textType({ role, metadata }: Message, synthetic: boolean): TextPieceType {
  if (metadata?.kind === "tool_summary") return "tool-summary";
  if (role === "assistant") return "assistant";
  if (role !== "user") return "other";
  return synthetic ? "program" : "typed";
}

function readTool(part: ToolPart, cleaner: TextCleaner): readonly PieceText[] {
  const tool = cleaner.line(part.tool, MAX_TOOL_NAME_CHARS);
  const input = part.input === undefined ? "" : cleaner.data(safeJson(part.input));
  const found: PieceText[] = part.callMissing ? [] : [{ type: "input", tool, text: input }];
  const { outcome } = part;
  if (outcome.status === "pending") return [...found, { type: "no-result", tool, text: "" }];
  if (isCleared(part)) return [...found, { type: "output", tool, text: CLEARED_PLACEHOLDER }];
  if (outcome.status === "failed") {
    return [...found, { type: "error", tool, text: cleaner.data(outcome.error) }];
  }
  return [
    ...found,
    { type: "output", tool, text: cleaner.data(outcome.output) },
    ...outcome.attachments.map((file) => ({ type: "file" as const, text: fileLabel(file, cleaner) })),
  ];
}

const MAX_TOOL_NAME_CHARS = 100;

function fileLabel(file: FilePart, cleaner: TextCleaner): string {
  return cleaner.line(describeFile(file), 200);
}

/** One message as labelled and quoted text, so that no model takes it for a conversation to continue. */
export interface SummaryBlock {
  readonly messageId: MessageId;
  readonly text: string;
  /** At most so many tokens, with the estimate's error on the safe side. */
  readonly maxTokens: number;
}

/** A block a message, in order; messages with nothing to read have none. */
export function serializePieces(pieces: readonly TextPiece[]): readonly SummaryBlock[] {
  const texts = new Map<MessageId, string>();
  for (const piece of pieces) {
    const before = texts.get(piece.message.id);
    const text = serializePiece(piece);
    texts.set(piece.message.id, before === undefined ? text : `${before}\n${text}`);
  }
  return Array.from(texts, ([messageId, text]) => ({ messageId, text, maxTokens: upperTokens(text) }));
}

/** A number of tokens that a text does not exceed in 95 of 100 cases, by either estimate. */
export function upperTokens(text: string): number {
  const calibrated = estimateTokens(text, { estimator: "calibrated", rounding: "ceil" });
  const documented = estimateTokens(text, { rounding: "ceil" });
  return Math.max(documented, Math.ceil(calibrated * estimateInterval("calibrated").high));
}

/** How much of a tool's input or output a summary is made from, in code points. */
const SUMMARY_RESULT_POINTS = 1_800;

const LABELS = {
  typed: "User",
  program: "Program, in the user's name",
  assistant: "Assistant",
  "tool-summary": "Summary of earlier tool results",
  other: "Other",
  input: "Assistant calls",
  output: "Result of",
  error: "Error of",
  "no-result": "Result of",
};

function serializePiece({ type, tool, text }: TextPiece): string {
  const quoted = fenceQuote(text);
  if (type === "file") return `[File: ${quoted}]`;
  if (tool === undefined) return `[${LABELS[type]}]: ${quoted}`;
  const said = type === "no-result" ? "(none yet)" : cutCodePoints(quoted, SUMMARY_RESULT_POINTS);
  return `[${LABELS[type]} ${fenceQuote(tool)}]: ${said}`;
}

/**
 * A text with at most so many code points of the original: two thirds from its beginning, one third from its
 * end, and a marker between them. Never longer than the text itself.
 */
export function cutCodePoints(text: string, maxPoints: number): string {
  if (text.length <= maxPoints) return text;
  const totalPoints = countCodePoints(text);
  if (totalPoints <= maxPoints) return text;
  const headPoints = Math.ceil((maxPoints * 2) / 3);
  const headEnd = unitsOfHead(text, headPoints);
  const tailStart = text.length - unitsOfTail(text, maxPoints - headPoints);
  const marker = truncationMarker(totalPoints - maxPoints, "head-tail");
  const cut = text.slice(0, headEnd) + marker + tailFrom(text, tailStart);
  return cut.length < text.length ? cut : text;
}

/** The rest of a text. Where that begins within a line, the line may read like a label only now. */
function tailFrom(text: string, start: number): string {
  const tail = text.slice(start);
  if (start === 0 || text.charAt(start - 1) === "\n") return tail;
  const end = tail.indexOf("\n") === -1 ? tail.length : tail.indexOf("\n");
  return fenceQuote(tail.slice(0, end)) + tail.slice(end);
}

/** The first code points of a text. */
export function firstCodePoints(text: string, maxPoints: number): string {
  return text.length <= maxPoints ? text : text.slice(0, unitsOfHead(text, maxPoints));
}

/** How many code points a text has; half of a pair that stands alone counts as one. */
export function countCodePoints(text: string): number {
  let points = text.length;
  for (let index = 0; index + 1 < text.length; index++) {
    if (isPair(text, index)) {
      points--;
      index++;
    }
  }
  return points;
}

function unitsOfHead(text: string, points: number): number {
  let index = 0;
  for (let count = 0; count < points && index < text.length; count++) index += isPair(text, index) ? 2 : 1;
  return index;
}

function unitsOfTail(text: string, points: number): number {
  let index = text.length;
  for (let count = 0; count < points && index > 0; count++) index -= isPair(text, index - 2) ? 2 : 1;
  return text.length - index;
}

function isPair(text: string, index: number): boolean {
  if (index < 0) return false;
  return (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}

/** Tool text for a quote: normalized, without secrets, fenced, cut to two thirds head and one third tail. */
export function quoteToolText(text: string, maxCodePoints: number, redact: RedactOptions): string {
  const cut = excerptCodePoints(cleanEdges(text, redact), maxCodePoints);
  return clipCodePoints(fenceData(cut), maxCodePoints);
}

/** A model's answer for a quote: normalized, without secrets, fenced, cut at its end. */
export function quoteAnswer(text: string, maxCodePoints: number, redact: RedactOptions): string {
  return clipCodePoints(fenceData(cleanEdges(text, redact)).trim(), maxCodePoints);
}

/** A name or an id on one line, fenced. */
export function quoteName(text: string): string {
  return clipCodePoints(
    fenceData(oneLine(normalizeText(text.slice(0, MAX_NAME_READ_CHARS)))),
    MAX_NAME_CODE_POINTS,
  );
}

/** At most this many code points, the marker of the cut included: two thirds head, one third tail. */
export function excerptCodePoints(text: string, maxCodePoints: number): string {
  const isShort = text.length <= maxCodePoints || countCodePoints(text) <= maxCodePoints;
  return isShort ? text : cutCodePoints(text, Math.max(0, maxCodePoints - MARKER_CHARS));
}

/** At most this many code points from the head of a text, with dots where more would follow. */
export function clipCodePoints(text: string, maxCodePoints: number): string {
  if (text.length <= maxCodePoints || countCodePoints(text) <= maxCodePoints) return text;
  return firstCodePoints(text, maxCodePoints - ELLIPSIS.length) + ELLIPSIS;
}

/** Room for the line that says how many are missing. */
const MARKER_CHARS = truncationMarker(Number.MAX_SAFE_INTEGER, "head-tail").length;
const MAX_NAME_CODE_POINTS = 100;
const MAX_NAME_READ_CHARS = 1_000;

/** How much of a text is read from each end, so that an output of 100 MB costs no more than a long one. */
const EDGE_CHARS = 100_000;
/** Longer than any secret. */
const HALVED_CHARS = 4_096;

function cleanEdges(text: string, redact: RedactOptions): string {
  const clean = (piece: string): string => redactSecrets(normalizeText(piece), redact);
  if (text.length <= 2 * EDGE_CHARS) return clean(text);
  const head = clean(text.slice(0, headCut(text, EDGE_CHARS)));
  const tail = clean(text.slice(tailCut(text, text.length - EDGE_CHARS)));
  // A secret that the slice cut in two is not recognised, so the text next to the cut goes too.
  const headEnd = headCut(head, Math.max(0, head.length - HALVED_CHARS));
  const tailStart = tailCut(tail, Math.min(tail.length, HALVED_CHARS));
  const marker = truncationMarker(text.length - headEnd - (tail.length - tailStart), "head-tail");
  return head.slice(0, headEnd) + marker + tail.slice(tailStart);
}

/** The text of a thrown value on one line and without secrets; never throws. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`;
    return ERROR_CLEANER.line(text, MAX_ERROR_CHARS);
  } catch {
    return "threw something that cannot be read";
  }
}

const ERROR_CLEANER = createTextCleaner();
const MAX_ERROR_CHARS = 300;
