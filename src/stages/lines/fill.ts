import { handleOf, renderMessage } from "../../transcript/content.ts";
import { applyEdits, type Edit, type Stage, type StagesResult } from "../../transcript/edit.ts";
import { type Transcript, withText } from "../../transcript/message.ts";
import { type FitOptions, fitsBudget } from "../char-budget.ts";
import { FORK_NO_TRUNCATION_TOOLS, MINIMUMS_FROM_CHARS, minimumsFor } from "../tiers.ts";
import type { FillSource } from "./read-call.ts";
import { type FillPart, type FillRows, type FillSegment, readRows, wholeChars } from "./rows.ts";
import { scoreRows } from "./score.ts";
import { GAP_MARKER, isOutput, type RowSelection, selectRows } from "./select.ts";
import { internWords } from "./words.ts";

/**
 * Fills a budget with the lines that are most likely needed next: the newest messages unchanged, what users said, the
 * newest work without repeated lines, then older lines by value per character. Changes nothing where everything fits.
 * Texts are split into rows (`rows.ts`), rows are scored by their words (`words.ts`, `score.ts`) and selected down to
 * the threshold that fills the budget (`select.ts`). Deterministic, and linear in the length of the transcript.
 */
export function fillBudget(options: FillBudgetOptions): Stage {
  return (transcript) => fillTranscript(transcript, options).edits;
}

interface FillBudgetOptions extends FitOptions {
  /** Tools whose results stay whole as long as there is room; a name matches when it contains one of these. */
  readonly neverCutTools?: readonly string[];
  /** `by-age` (the default): results keep what `minimumsFor` says where the budget is large enough for that. */
  readonly minimums?: "by-age" | "none";
  /** What the reader is asked to do: files that it names come first, and its words count as written just now. */
  readonly task?: string;
}

/** The edits of `fillBudget` together with the transcript after them, which was needed to measure it. */
export function fillTranscript(transcript: Transcript, options: FillBudgetOptions): StagesResult {
  const { maxChars, frameChars = () => 0, render = renderMessage } = options;
  const { neverCutTools = FORK_NO_TRUNCATION_TOOLS, task } = options;
  const hasMinimums = options.minimums !== "none" && maxChars >= MINIMUMS_FROM_CHARS;
  const select = {
    render,
    leastChars: options.leastChars,
    neverCutTools,
    ...(hasMinimums && { minimums: minimumsFor(maxChars) }),
    ...(task !== undefined && { task }),
  };
  if (fitsBudget(transcript, options)) return { transcript, edits: [] };
  const fill = readRows(transcript);
  const scores = scoreRows(fill, internWords(fill, task));
  let roomChars = maxChars - frameChars(fill.messages.length);
  for (let attempt = 1; ; attempt++) {
    const edits = fillEdits(fill, selectRows(fill, scores, { ...select, maxChars: roomChars }));
    const filled = applyEdits(transcript, edits, { at: 0 });
    let excessChars = frameChars(hiddenBy(edits)) - maxChars;
    for (const message of filled) excessChars += render(message).length;
    if (excessChars <= 0 || attempt === ATTEMPTS) return { transcript: filled, edits };
    // With many escapes the estimate would make the room negative.
    roomChars = Math.max(roomChars / 4, roomChars - (excessChars + SPARE_CHARS) * 2 ** (attempt - 1));
  }
}

/**
 * Escapes and labels take more than estimated, so the fill is repeated with less room. After these attempts
 * `charBudget` cuts the rest.
 */
const ATTEMPTS = 4;
const SPARE_CHARS = 32;

function hiddenBy(edits: readonly Edit[]): number {
  return edits.filter(({ type }) => type === "hide-message").length;
}

/** A selection as edits: messages and parts without a kept row are hidden, the others keep the selected lines. */
export function fillEdits(fill: FillRows, selection: RowSelection): readonly Edit[] {
  const edits: Edit[] = [];
  const { isShown, firstWholePart } = selection;
  let number = 0;
  while (number < firstWholePart) {
    const { message, messageNumber } = fill.parts[number] as FillPart;
    let end = number;
    while (end < firstWholePart && fill.parts[end]?.messageNumber === messageNumber) end++;
    if (isShown.subarray(number, end).includes(1)) {
      for (; number < end; number++) edits.push(...editPart(fill, selection, number));
    } else {
      const chars = fill.parts.slice(number, end).reduce((sum, part) => sum + part.chars, 0);
      const omitted = { chars, handle: message.id };
      edits.push({
        type: "hide-message",
        messageId: message.id,
        stage: STAGE,
        reason: "over-budget",
        omitted,
      });
    }
    number = end;
  }
  return edits;
}

const STAGE = "fill-budget";

function editPart(fill: FillRows, selection: RowSelection, number: number): readonly Edit[] {
  const filled = fill.parts[number] as FillPart;
  const { message, partIndex } = filled;
  const where = { messageId: message.id, partIndex, stage: STAGE } as const;
  const handle = handleOf(message, partIndex);
  if (selection.isShown[number] !== 1) {
    const omitted = { chars: filled.chars, handle };
    return [{ type: "hide-part", what: "part", reason: "over-budget", omitted, ...where }];
  }
  const left = withKeptText(fill, filled, selection) ?? withKeptLines(fill, filled, selection);
  if (left === undefined) return [];
  const omitted = { chars: Math.max(0, filled.chars - left.chars), handle };
  return [{ type: "replace-part", part: left.part, reason: "selected-lines", omitted, ...where }];
}

/** The text with its selected lines and its length; undefined when nothing changes or the part is no text. */
function withKeptText(fill: FillRows, { part, firstSegment }: FillPart, selection: RowSelection) {
  if (part.type !== "text") return undefined;
  const text = keptText(fill, fill.segments[firstSegment] as FillSegment, selection);
  if (text === undefined) return undefined;
  const cut = linesCut(part.cut?.originalChars ?? part.text.length, text);
  return { part: { ...part, text, cut }, chars: text.length };
}

const INPUT_SOURCES: ReadonlySet<FillSource> = new Set(["change", "removed", "input"]);

/** A call with the selected lines of its input and output. */
function withKeptLines(fill: FillRows, filled: FillPart, selection: RowSelection) {
  const { part } = filled;
  if (part.type !== "tool") return undefined;
  let changed = part;
  let chars = filled.chars;
  const strings = new Map<string, string>();
  for (let segment = filled.firstSegment; segment < filled.endSegment; segment++) {
    const found = fill.segments[segment] as FillSegment;
    if (found.source === "call") continue;
    const text = keptText(fill, found, selection);
    if (INPUT_SOURCES.has(found.source)) strings.set(found.text, text ?? found.text);
    else if (text !== undefined) {
      const cut = linesCut(part.cut?.originalChars ?? found.text.length, text);
      changed = { ...changed, outcome: withText(part.outcome, text), cut: { ...part.cut, ...cut } };
      chars += text.length - found.text.length;
    }
  }
  const input = filled.call?.withStrings?.((text) => strings.get(text) ?? text);
  if (input !== undefined) {
    const originalChars = filled.call?.inputChars ?? 0;
    const inputCut = { ...linesCut(originalChars, input.preview), preview: input.preview };
    changed = { ...changed, input: input.input, inputCut };
    chars += input.inputChars - originalChars;
  }
  return changed === part ? undefined : { part: changed, chars };
}

function linesCut(originalChars: number, kept: string) {
  const omittedChars = Math.max(0, originalChars - kept.length);
  return { method: "lines", originalChars, omittedChars, limitChars: kept.length } as const;
}

const LINE_BREAK = 10;

/**
 * The selected rows of a text with a marker for each gap, line numbers without padding; undefined when the text stays
 * as it is.
 */
export function keptText(
  { rows }: FillRows,
  segment: FillSegment,
  { isKept, verbatimParts }: RowSelection,
): string | undefined {
  const { text, firstRow, endRow } = segment;
  if (verbatimParts?.has(segment.partNumber) && isOutput(segment)) return undefined;
  const isWhole = isKept.subarray(firstRow, endRow).every((kept) => kept === 1);
  if (isWhole && wholeChars(rows, segment) > text.length) return undefined;
  let kept = "";
  let previous = firstRow - 1;
  // Adjacent rows that stay unchanged are copied as one slice.
  let start = 0;
  let end = 0;
  for (let row = firstRow; row < endRow; row++) {
    if (isKept[row] !== 1) continue;
    const blankLines = rows.blankLines[row] ?? 0;
    const isNext = row === previous + 1;
    const rowStart = rows.start[row] ?? 0;
    const isAsInText =
      isNext &&
      start < end &&
      rowStart === end + 1 + blankLines &&
      (blankLines === -1 || text.charCodeAt(end) === LINE_BREAK);
    if (!isAsInText) {
      kept += text.slice(start, end);
      if (!isNext) kept += kept === "" ? GAP_MARKER : `\n${GAP_MARKER}`;
      if (kept !== "" && (!isNext || blankLines !== -1)) kept += "\n";
      if (isNext && blankLines > 0) kept += "\n".repeat(blankLines);
      start = rowStart;
    }
    end = rows.end[row] ?? 0;
    previous = row;
  }
  kept += text.slice(start, end);
  if (previous < endRow - 1) kept += kept === "" ? GAP_MARKER : `\n${GAP_MARKER}`;
  return kept;
}
