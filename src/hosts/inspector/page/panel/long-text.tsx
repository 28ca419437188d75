import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TextRange } from "../../view/types.ts";
import { count } from "../words/numbers.ts";
import { scrolledByKeyboard } from "./scrolled-by-keyboard.ts";
import { textPieces } from "./text-pieces.ts";

/** A text of any length with some of it marked; of a very long one as much as was asked for. */
export function LongText({ text, label, ranges = [], mark = "cut" }: LongTextProps): VNode {
  const [zoom, setZoom] = useState({ of: text, times: 1 });
  const times = zoom.of === text ? zoom.times : 1;
  const { pieces, hiddenChars } = textPieces(text, {
    ranges,
    maxChars: MAX_CHARS * times,
    // Every mark is to be seen, so what lies between gives way first.
    pieceChars: ranges.length === 0 ? Number.POSITIVE_INFINITY : PIECE_CHARS * times,
  });
  return (
    <div class="text">
      <section class="pane" aria-label={label} ref={scrolledByKeyboard}>
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
