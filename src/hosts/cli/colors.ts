import picocolors from "picocolors";

/** The few ways in which the command line stresses a word. */
export interface Colors {
  bold(text: string): string;
  red(text: string): string;
  dim(text: string): string;
}

/** Colours for a stream: only on a terminal, and not when NO_COLOR asks for none. */
export function colorsFor(stream: { readonly isTTY?: boolean }): Colors {
  return picocolors.createColors(stream.isTTY === true && process.env.NO_COLOR === undefined);
}
