import { Component, type ComponentClass, type FunctionComponent, type VNode } from "preact";
import { useState } from "preact/hooks";
import type { Fate, TextRange } from "../../view/types.ts";
import { textPieces } from "./text-pieces.ts";
import { count, FATES, letterOf } from "./words.ts";

/** The letter of a fate on its colour, so that neither is the only sign. Its word stands beside it. */
export function FateBadge({ fate }: { readonly fate: Fate }): VNode {
  return (
    <span class={`badge ${fate}`} title={fate} aria-hidden="true">
      {letterOf(fate)}
    </span>
  );
}

/** A quiet word while a newer answer of the engine is on its way; what is answered at once shows none. */
export function Busy({ state }: { readonly state: "working" | "done" }): VNode {
  return (
    <span class="busy" data-state={state} aria-hidden="true">
      computing…
    </span>
  );
}

/** What the colours, letters, heights and widths mean. */
export function Legend(): VNode {
  return (
    <div class="legend">
      <ul aria-label="Fates">
        {FATES.map(({ fate, label, about }) => (
          <li key={fate} title={about}>
            <FateBadge fate={fate} />
            <span class={`swatch track ${fate}`} aria-hidden="true">
              <span class="sent" />
            </span>
            {label}
          </li>
        ))}
      </ul>
      <p>Taller: more tokens (square root). Solid: sent to the model. Faint: left out.</p>
    </div>
  );
}

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

/** Lets the keyboard reach an element in order to scroll it; not every browser does so by itself. For `ref`. */
export function makeFocusable(element: HTMLElement | null): void {
  if (element !== null) element.tabIndex = 0;
}

/** The same, rendered again only when one of its properties is another: most of the page rests while a slider moves. */
export function memo<Properties extends object>(
  Shown: FunctionComponent<Properties>,
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
      return <Shown {...this.props} />;
    }
  };
}
