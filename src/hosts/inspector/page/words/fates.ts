import type { Fate } from "../../view/types.ts";

/** Every fate in the order of a legend, with the letter that tells it apart without colour. */
export const FATES: readonly FateWords[] = [
  { fate: "kept", letter: "K", label: "kept", about: "sent to the model as it is" },
  { fate: "clipped", letter: "C", label: "clipped", about: "sent in part" },
  { fate: "cleared", letter: "X", label: "cleared", about: "only a placeholder is sent" },
  { fate: "summarized", letter: "S", label: "summarized", about: "a summary stands for it" },
  { fate: "superseded", letter: "N", label: "superseded", about: "something newer shows the same" },
  { fate: "hidden", letter: "H", label: "hidden", about: "not sent; still recorded" },
];

export interface FateWords {
  readonly fate: Fate;
  readonly letter: string;
  readonly label: string;
  readonly about: string;
}

/** The letter of a fate. */
export function letterOf(fate: Fate): string {
  return FATES.find((words) => words.fate === fate)?.letter ?? "?";
}
