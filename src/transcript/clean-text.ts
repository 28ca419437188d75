import { normalizeText } from "../text/normalize-text.ts";
import { normalizeTypedText } from "../text/typed-text.ts";
import type { Message } from "./message.ts";
import type { TextPart } from "./part.ts";

/** The text of a part as a model may read it; what the user typed is changed as little as possible. */
export function cleanText(message: Message, part: TextPart): string {
  const isTyped = message.role === "user" && !part.synthetic;
  return isTyped ? normalizeTypedText(part.text) : normalizeText(part.text);
}

/** True for text that a provider may refuse: lone surrogates, NUL and other control characters. */
export function isMalformed(text: string): boolean {
  return CONTROL.test(text) || !text.isWellFormed();
}

const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
