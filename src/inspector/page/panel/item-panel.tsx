import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ItemPlace, ItemRow, ItemText, TextRange, WindowOptions } from "../../view/types.ts";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import type { Band, ItemBand, Side } from "../state/band-layout.ts";
import {
  Busy,
  count,
  FateBadge,
  itemLabel,
  makeFocusable,
  roleWord,
  shortened,
  useTokens,
} from "../words/words.tsx";

/** One item before and after the policy, with what was cut marked. */
export function ItemPanel({ asked, band, options, query }: ItemPanelProps): VNode {
  if (band === undefined || band.type === "line" || band.type === "folded" || band.type === "empty") {
    return (
      <p class="dim">
        Choose a band on the left, by a click or with Enter, to see its text before and after.
      </p>
    );
  }
  if (band.type === "inserted") {
    const { about, text, chars, tokens } = band.inserted;
    return (
      <>
        <h2>Put in by the policy</h2>
        <p>{about}</p>
        <h3>
          Text <Amount chars={chars} tokens={tokens} />
        </h3>
        <LongText text={text} label="Text that was put in" hits={occurrences(text, query)} />
      </>
    );
  }
  return <RecordedItem asked={asked} band={band} options={options} query={query} />;
}

interface ItemPanelProps {
  readonly asked: AskedSession;
  readonly band: Band | undefined;
  /** What is searched for: it is marked in the text. */
  readonly query: string;
  /** The window options of each side; B only while two policies are compared. */
  readonly options: Readonly<{ a: WindowOptions; b?: WindowOptions }>;
}

interface RecordedItemProps extends ItemPanelProps {
  readonly band: ItemBand;
}

function RecordedItem({ asked, band, options, query }: RecordedItemProps): VNode {
  const [chosen, setChosen] = useState<Side>("a");
  const side: Side = options.b === undefined ? "a" : chosen;
  const window = (side === "b" ? options.b : undefined) ?? options.a;
  const item = (side === "b" ? band.itemB : undefined) ?? band.item;
  const { row } = band;
  const { partIndex, side: itemSide } = item;
  const place: ItemPlace = { messageId: row.id, partIndex, side: itemSide };
  const { answer, answered, state } = useAnswer<"item">(asked, { type: "item", options: window, place });
  const texts = answered !== undefined && isSamePlace(answered.place, place) ? answer : undefined;
  const { what, detail } = itemLabel(asked.session, row, item);
  return (
    <>
      <h2>
        {what} <span class="detail">{shortened(detail, DETAIL_CHARS)}</span>
      </h2>
      <p class="facts">
        message {count(row.index + 1)} · {roleWord(row.role)} · <span class="mono">{item.handle}</span>
        <Busy state={state} />
      </p>
      {options.b !== undefined && <SideSwitch side={side} onSide={setChosen} />}
      <Why item={item} />
      {texts !== undefined && <Texts item={item} texts={texts} query={query} />}
    </>
  );
}

const DETAIL_CHARS = 80;

function isSamePlace(one: ItemPlace, other: ItemPlace): boolean {
  return one.messageId === other.messageId && one.partIndex === other.partIndex && one.side === other.side;
}

function Texts({ item, texts, query }: TextsProps): VNode {
  const { before, after, cuts, added } = texts;
  const amount = <Amount chars={item.chars} tokens={item.tokens} />;
  if (before === after) {
    return (
      <>
        <h3>The same before and after {amount}</h3>
        <LongText text={before} label="Text before and after" hits={occurrences(before, query)} />
      </>
    );
  }
  return (
    <div class="sides">
      <section>
        <h3>Before {amount}</h3>
        <LongText text={before} label="Text before" ranges={cuts} hits={occurrences(before, query)} />
      </section>
      <section>
        <h3>
          After <Amount chars={item.keptChars} tokens={item.keptTokens} />
        </h3>
        <LongText text={after} label="Text after" ranges={added} mark="added" />
      </section>
    </div>
  );
}

interface TextsProps extends Pick<ItemPanelProps, "query"> {
  readonly item: ItemRow;
  readonly texts: ItemText;
}

function SideSwitch({ side, onSide }: { readonly side: Side; readonly onSide: (side: Side) => void }): VNode {
  return (
    <fieldset class="switch">
      <legend>Policy</legend>
      {(["a", "b"] as const).map((name) => (
        <label key={name}>
          <input type="radio" name="item-side" checked={side === name} onChange={() => onSide(name)} />
          {name.toUpperCase()}
        </label>
      ))}
    </fieldset>
  );
}

function Why({ item }: { readonly item: ItemRow }): VNode {
  return (
    <p class="why">
      <FateBadge fate={item.fate} /> <b>{item.fate}</b>
      {item.reason !== undefined && `: ${item.reason}`}
      {item.stage !== undefined && <span class="dim"> · {item.stage}</span>}
    </p>
  );
}

function Amount({ chars, tokens }: { readonly chars: number; readonly tokens: number }): VNode {
  const shown = useTokens();
  return (
    <span class="amount">
      {count(chars)} chars, {shown(tokens)} tokens
    </span>
  );
}

/** Where a text contains what is searched for, ignoring case; at most so many places that a page can show them. */
function occurrences(text: string, query: string): readonly TextRange[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  const ranges: TextRange[] = [];
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(wanted); at !== -1 && ranges.length < MAX_HITS; ) {
    ranges.push({ start: at, end: at + wanted.length });
    at = lower.indexOf(wanted, at + wanted.length);
  }
  return ranges;
}

const MAX_HITS = 100;

/** A text with some of it marked; of a very long one only a part, and more on demand. Hits of a search count before all else, and the first is scrolled to. */
export function LongText(props: LongTextProps): VNode {
  const { text, label, hits = [] } = props;
  const { ranges, mark } =
    hits.length > 0
      ? { ranges: hits, mark: "hit" }
      : { ranges: props.ranges ?? [], mark: props.mark ?? "cut" };
  const pane = useRef<HTMLElement | null>(null);
  const firstHit = hits[0]?.start;
  useEffect(() => {
    const found = firstHit === undefined ? null : pane.current?.querySelector("mark");
    if (pane.current && found) pane.current.scrollTop = found.offsetTop - pane.current.clientHeight / 3;
  }, [text, firstHit]);
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
      <section
        class="pane"
        aria-label={label}
        ref={(element) => {
          makeFocusable(element);
          pane.current = element;
        }}
      >
        <pre>
          {pieces.map(({ text: shown, isMarked, start, skippedChars }) => (
            <span key={start}>
              {isMarked ? <Marked mark={mark}>{shown}</Marked> : shown}
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

function Marked({ mark, children }: { readonly mark: string; readonly children: string }): VNode {
  if (mark === "hit") return <mark>{children}</mark>;
  return mark === "cut" ? <del>{children}</del> : <ins>{children}</ins>;
}

interface LongTextProps {
  /** What a search found in it. */
  readonly hits?: readonly TextRange[];
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
