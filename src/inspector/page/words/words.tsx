import { Component, type ComponentClass, type FunctionComponent, type VNode } from "preact";
import { useState } from "preact/hooks";
import { safeJson } from "../../../text/json.ts";
import { oneLine } from "../../../text/truncate.ts";
import type { Transcript } from "../../../transcript/message.ts";
import type { Part } from "../../../transcript/part.ts";
import type { Fate, InspectedSession, ItemRow, MessageRow, TextRange, WindowView } from "../../view/types.ts";

/** A whole number with thousands separators: `12,345`. */
export function count(value: number): string {
  return WHOLE.format(Math.round(value));
}

/** A number in short: `48 k`, `1.2 M`. */
export function short(value: number): string {
  const size = Math.abs(value);
  if (size < 1_000) return count(value);
  const [unit, divisor] = size < 999_500 ? ["k", 1_000] : ["M", 1_000_000];
  const scaled = value / divisor;
  return `${Math.abs(scaled) < 9.95 ? scaled.toFixed(1) : Math.round(scaled)} ${unit}`;
}

/** A share in percent: `<1 %`, `96 %`. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part <= 0) return "0 %";
  const value = (100 * part) / whole;
  return value < 1 ? "<1 %" : `${Math.round(value)} %`;
}

/** A number with its sign: `+12`, `−3,100`, `±0`. */
export function signed(value: number): string {
  if (Math.round(value) === 0) return "±0";
  return `${value > 0 ? "+" : "−"}${count(Math.abs(value))}`;
}

/** A number with its noun: `1 message`, `2 messages`. */
export function plural(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

/** Date and time in the reader's own time zone. */
export function moment(atMs: number): string {
  return isDate(atMs) ? MOMENT.format(atMs) : "";
}

/** The time of day. */
export function clock(atMs: number): string {
  return isDate(atMs) ? CLOCK.format(atMs) : "";
}

function isDate(atMs: number): boolean {
  return Number.isFinite(atMs) && Math.abs(atMs) < 8.64e15;
}

const WHOLE: Intl.NumberFormat = new Intl.NumberFormat("en-US");
const MOMENT: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const CLOCK: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/** Every fate in the order of the legend, with the letter that identifies it without colour. */
export const FATES: readonly FateWords[] = [
  { fate: "kept", letter: "K", about: "sent to the model as it is" },
  { fate: "clipped", letter: "C", about: "sent in part" },
  { fate: "cleared", letter: "X", about: "only a placeholder is sent" },
  { fate: "summarized", letter: "S", about: "a summary stands for it" },
  { fate: "superseded", letter: "N", about: "something newer shows the same" },
  { fate: "hidden", letter: "H", about: "not sent; still recorded" },
];

interface FateWords {
  readonly fate: Fate;
  readonly letter: string;
  readonly about: string;
}

/** The letter of a fate on its colour, so that colour is not the only sign. */
export function FateBadge({ fate }: { readonly fate: Fate }): VNode {
  return (
    <span class={`badge ${fate}`} title={fate} aria-hidden="true">
      {FATES.find((words) => words.fate === fate)?.letter}
    </span>
  );
}

/** What an item is, in a word, and the beginning of its text. */
interface ItemLabel {
  readonly what: string;
  readonly detail: string;
}

/** What labels are made from. */
export type LabelSource = Pick<InspectedSession, "workingDirectory"> & { readonly transcript: Transcript };

/** The label of an item; only the beginning of its text is read. */
export function itemLabel(
  source: LabelSource,
  { index }: Pick<MessageRow, "index">,
  item: ItemRow,
): ItemLabel {
  const part = source.transcript[index]?.parts[item.partIndex];
  const words = item.path ?? (part === undefined ? "" : excerptOf(part, item, source));
  return { what: whatOf(item), detail: oneLine(inProject(words, source).slice(0, EXCERPT_CHARS)) };
}

/** The name of an item in a sentence: a file, or what its call asked for. */
export function itemName(source: LabelSource, row: Pick<MessageRow, "index">, item: ItemRow): string {
  const { what, detail } = itemLabel(source, row, item.side === "output" ? { ...item, side: "input" } : item);
  const short = shortened(detail, NAME_CHARS);
  return short === "" ? (item.tool ?? what) : `${item.tool ?? what} ${short}`;
}

/** The beginning of a text, with an ellipsis when there is more. */
export function shortened(text: string, maxChars: number): string {
  return text.length > maxChars ? `${text.slice(0, maxChars).trimEnd()}…` : text;
}

/** A role as the page calls it. */
export function roleWord(role: string): string {
  return role === "assistant" ? "agent" : role;
}

/** A path relative to the session's working directory. */
export function inProject(
  path: string,
  { workingDirectory }: Pick<InspectedSession, "workingDirectory">,
): string {
  return workingDirectory !== undefined && path.startsWith(`${workingDirectory}/`)
    ? path.slice(workingDirectory.length + 1)
    : path;
}

function whatOf({ kind, tool, failed, side }: ItemRow): string {
  if (tool === undefined) return kind;
  if (side === "input") return `${tool} call`;
  return failed ? `${tool} failed` : tool;
}

function excerptOf(part: Part, { side }: ItemRow, source: LabelSource): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.slice(0, EXCERPT_CHARS);
    case "tool":
      if (side === "input") return inputExcerpt(part.input, source);
      if (part.outcome.status === "pending") return "still running";
      return (part.outcome.status === "done" ? part.outcome.output : part.outcome.error).slice(
        0,
        EXCERPT_CHARS,
      );
    case "file":
      return part.filename ?? part.mime;
    case "compaction":
      return `${part.trigger} compaction`;
    case "opaque":
      return part.name;
  }
}

/** The values of a call's input without their names, which are the same for every call of a tool. */
function inputExcerpt(input: unknown, source: LabelSource): string {
  if (typeof input === "string") return input.slice(0, EXCERPT_CHARS);
  if (typeof input !== "object" || input === null) return safeJson(input).slice(0, EXCERPT_CHARS);
  const words: string[] = [];
  let chars = 0;
  for (const value of Object.values(input)) {
    if (chars > EXCERPT_CHARS) break;
    const word =
      typeof value === "string"
        ? inProject(value.slice(0, EXCERPT_CHARS), source)
        : typeof value === "number"
          ? `${value}`
          : "";
    if (word === "") continue;
    words.push(word);
    chars += word.length;
  }
  return words.join(" · ");
}

const EXCERPT_CHARS = 160;
const NAME_CHARS = 32;

/** A window in one line: what was recorded, what is sent, and the largest item left out. */
export function verdictOf(view: WindowView, session: InspectedSession): string {
  if (view.rows.length === 0) return "Nothing was said yet.";
  const sizes = `${short(view.charsBefore)} chars seen, ${short(view.charsAfter)} sent`;
  const measure = view.charsBefore > view.charsAfter ? "savedChars" : "chars";
  const largest = largestOf(view, measure);
  if (largest === undefined) return sizes;
  const { row, item } = largest;
  const words = measure === "savedChars" ? "most left out" : "largest";
  return `${sizes}; ${words}: ${itemName(session, row, item)} (${short(item[measure])})`;
}

function largestOf({ rows }: WindowView, measure: "chars" | "savedChars"): Largest | undefined {
  let largest: Largest | undefined;
  for (const row of rows) {
    for (const item of row.items) {
      if (item[measure] > (largest?.item[measure] ?? 0)) largest = { row, item };
    }
  }
  return largest;
}

interface Largest {
  readonly row: MessageRow;
  readonly item: ItemRow;
}

/** A note while a newer answer is being computed; the stylesheet delays it, so that quick answers show none. */
export function Busy({ state }: { readonly state: "working" | "done" }): VNode {
  return (
    <span class="busy" data-state={state} aria-hidden="true">
      computing…
    </span>
  );
}

/** The heads of a table's columns; an empty name leaves the cell empty. */
export function ColumnHeads({ names }: { readonly names: readonly string[] }): VNode {
  return (
    <thead>
      <tr>
        {names.map((name) =>
          name === "" ? (
            <td key={name} />
          ) : (
            <th key={name} scope="col">
              {name}
            </th>
          ),
        )}
      </tr>
    </thead>
  );
}

/** For `ref`: lets the keyboard focus an element to scroll it, which not every browser does by itself. */
export function makeFocusable(element: HTMLElement | null): void {
  if (element !== null) element.tabIndex = 0;
}

/** The component, rendered again only when a property changed: most of the page stays as it is while a slider moves. */
export function memo<Properties extends object>(
  Inner: FunctionComponent<Properties>,
): ComponentClass<Properties> {
  return class extends Component<Properties> {
    override shouldComponentUpdate(next: Properties): boolean {
      const now: Readonly<Record<string, unknown>> = { ...this.props };
      const names = Object.keys(next);
      return (
        names.length !== Object.keys(now).length ||
        Object.entries(next).some(([name, value]) => now[name] !== value)
      );
    }

    override render(): VNode {
      return <Inner {...this.props} />;
    }
  };
}

/** A text with some of it marked; of a very long one only a part, and more on demand. */
export function LongText({ text, label, ranges = [], mark = "cut" }: LongTextProps): VNode {
  const [zoom, setZoom] = useState({ of: text, times: 1 });
  const times = zoom.of === text ? zoom.times : 1;
  const { pieces, hiddenChars } = textPieces(text, {
    ranges,
    maxChars: MAX_CHARS * times,
    // Every marked range must be visible, so the text between is shortened first.
    pieceChars: ranges.length === 0 ? Number.POSITIVE_INFINITY : PIECE_CHARS * times,
  });
  return (
    <div class="text">
      <section class="pane" aria-label={label} ref={makeFocusable}>
        <pre>
          {pieces.map(({ text: shown, isMarked, start, skippedChars }) => (
            <span key={start}>
              {isMarked ? mark === "cut" ? <del>{shown}</del> : <ins>{shown}</ins> : shown}
              {skippedChars !== undefined && (
                <span class={`skip ${isMarked ? mark : ""}`}>
                  {" "}
                  ⋯ {count(skippedChars)} chars not shown here ⋯{" "}
                </span>
              )}
            </span>
          ))}
          {text === "" && <span class="dim">nothing</span>}
        </pre>
      </section>
      {hiddenChars > 0 && (
        <button type="button" class="more" onClick={() => setZoom({ of: text, times: times * 4 })}>
          Show more: {count(hiddenChars)} of {count(text.length)} chars are not shown
        </button>
      )}
    </div>
  );
}

interface LongTextProps {
  readonly text: string;
  readonly label: string;
  readonly ranges?: readonly TextRange[];
  readonly mark?: "cut" | "added";
}

const MAX_CHARS = 16_000;
const PIECE_CHARS = 2_400;

/** A long text as pieces of limited length, up to a total; every marked range is among them. */
export function textPieces(text: string, { ranges, maxChars, pieceChars }: PieceOptions): TextPieces {
  const pieces: TextPiece[] = [];
  let shownChars = 0;
  let place = 0;
  const add = (start: number, end: number, isMarked: boolean): void => {
    if (end <= start) return;
    place = end;
    if (shownChars >= maxChars) return;
    const kept = Math.min(end - start, pieceChars, Math.max(MIN_PIECE_CHARS, maxChars - shownChars));
    shownChars += kept;
    if (kept === end - start) pieces.push({ text: text.slice(start, end), isMarked, start });
    else {
      const headEnd = start + Math.ceil((kept * 3) / 4);
      const tailStart = end - Math.floor(kept / 4);
      pieces.push({ text: text.slice(start, headEnd), isMarked, start, skippedChars: tailStart - headEnd });
      pieces.push({ text: text.slice(tailStart, end), isMarked, start: tailStart });
    }
  };
  for (const { start, end } of ranges) {
    add(place, Math.min(start, text.length), false);
    add(Math.max(place, start), Math.min(end, text.length), true);
  }
  add(place, text.length, false);
  return { pieces, hiddenChars: text.length - shownChars };
}

interface PieceOptions {
  /** In order, not overlapping. */
  readonly ranges: readonly TextRange[];
  /** About how much is shown of everything, and of one piece. */
  readonly maxChars: number;
  readonly pieceChars: number;
}

interface TextPieces {
  readonly pieces: readonly TextPiece[];
  readonly hiddenChars: number;
}

interface TextPiece {
  readonly text: string;
  readonly isMarked: boolean;
  readonly start: number;
  /** How much of the same piece is not shown behind this. */
  readonly skippedChars?: number;
}

const MIN_PIECE_CHARS = 80;
