import { toWellFormed } from "./normalize-text.ts";

/** Text that a person typed, made safe to send: well-formed, no control characters. Joiners and direction marks stay, since some languages are written with them. */
export function normalizeTypedText(text: string): string {
  const wellFormed = toWellFormed(text);
  return CONTROL.test(wellFormed) ? wellFormed.replace(CONTROLS, "") : wellFormed;
}

const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const CONTROLS = new RegExp(CONTROL, "g");
