import type { VNode } from "preact";
import type { Fate } from "../../view/types.ts";

/** Every status in the order of the legend, with the letter that identifies it without colour. */
export const FATES: readonly FateWords[] = [
  { fate: "kept", letter: "K", about: "in the window as it is" },
  { fate: "clipped", letter: "C", about: "in the window in part" },
  { fate: "cleared", letter: "X", about: "only a placeholder is in the window" },
  { fate: "summarized", letter: "S", about: "a summary stands for it" },
  { fate: "superseded", letter: "N", about: "something newer shows the same" },
  { fate: "hidden", letter: "H", about: "not in the window; still recorded" },
];

interface FateWords {
  readonly fate: Fate;
  readonly letter: string;
  readonly about: string;
}

/** The letter of a status on its colour, so that colour is not the only sign. */
export function FateBadge({ fate }: { readonly fate: Fate }): VNode {
  return (
    <span class={`badge ${fate}`} title={fate} aria-hidden="true">
      {FATES.find((words) => words.fate === fate)?.letter}
    </span>
  );
}
