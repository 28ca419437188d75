import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { TextRange } from "../../view/types.ts";
import { makeFocusable } from "../elements/focusable.ts";
import { count } from "../words/numbers.ts";

/**
 * Shows a text with marked ranges; a very long one in pieces, with more on demand. Search hits take priority, and the
 * first is scrolled into view.
 */
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
    // Every marked range must be visible, so the text between them is shortened first.
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
