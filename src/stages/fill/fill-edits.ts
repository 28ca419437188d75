import type { Edit } from "../../transcript/edit.ts";
import { type TextPart, type ToolPart, withText } from "../../transcript/part.ts";
import { handleOf } from "../../transcript/tool-results.ts";
import type { FillPart, FillRows, FillSegment } from "./fill-rows.ts";
import type { FillSource } from "./fill-source.ts";
import { keptText } from "./kept-text.ts";
import type { RowSelection } from "./select-rows.ts";

/** A selection as edits: messages and parts of which nothing stays are hidden, the others get the lines that stay. */
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
  const { message, partIndex, part } = filled;
  const where = { messageId: message.id, partIndex, stage: STAGE } as const;
  const handle = handleOf(message, partIndex);
  if (selection.isShown[number] !== 1) {
    const omitted = { chars: filled.chars, handle };
    return [{ type: "hide-part", what: "part", reason: "over-budget", omitted, ...where }];
  }
  const left =
    part.type === "text"
      ? withKeptText(part, filled, { fill, selection })
      : part.type === "tool"
        ? withKeptLines(part, filled, { fill, selection })
        : undefined;
  if (left === undefined) return [];
  const { part: changed } = left;
  const omitted = { chars: Math.max(0, filled.chars - left.chars), handle };
  return [{ type: "replace-part", part: changed, reason: "selected-lines", omitted, ...where }];
}

interface Selected {
  readonly fill: FillRows;
  readonly selection: RowSelection;
}

/** What became of a part; undefined when it stays as it is. */
interface Left<P> {
  readonly part: P;
  readonly chars: number;
}

function withKeptText(
  part: TextPart,
  { firstSegment }: FillPart,
  { fill, selection }: Selected,
): Left<TextPart> | undefined {
  const text = keptText(fill, fill.segments[firstSegment] as FillSegment, selection);
  if (text === undefined) return undefined;
  const cut = linesCut(part.cut?.originalChars ?? part.text.length, text);
  return { part: { ...part, text, cut }, chars: text.length };
}

const INPUT_SOURCES: ReadonlySet<FillSource> = new Set(["change", "removed", "input"]);

function withKeptLines(
  part: ToolPart,
  filled: FillPart,
  { fill, selection }: Selected,
): Left<ToolPart> | undefined {
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
