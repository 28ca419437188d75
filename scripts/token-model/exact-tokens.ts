import { decode, encode } from "gpt-tokenizer/encoding/o200k_base";

/** The tokens of a text as o200k counts them. */
export function exactTokens(text: string): number {
  let tokens = 0;
  let from = 0;
  let run = 1;
  for (let index = 1; index < text.length; index++) {
    run = text.charCodeAt(index) === text.charCodeAt(index - 1) ? run + 1 : 1;
    if (run <= LONGEST_RUN) continue;
    tokens += encode(text.slice(from, index), PLAIN).length;
    from = index;
    run = 1;
  }
  return tokens + encode(text.slice(from), PLAIN).length;
}

// A run of one character takes the tokenizer quadratic time, so a long one is counted in pieces.
const LONGEST_RUN = 256;
const PLAIN = { disallowedSpecial: new Set<string>() };

/** Ideographs that o200k joins with others in at least two of its tokens, in code point order. */
export function commonIdeographs(): string {
  const uses = new Map<string, number>();
  for (let token = 0; token < ORDINARY_TOKENS; token++) {
    const ideographs = /^[^\p{L}]?([\u4e00-\u9fff]{2,})$/u.exec(decode([token]))?.[1] ?? "";
    for (const ideograph of new Set(ideographs)) uses.set(ideograph, (uses.get(ideograph) ?? 0) + 1);
  }
  return [...uses.keys()]
    .filter((ideograph) => (uses.get(ideograph) ?? 0) >= 2)
    .sort()
    .join("");
}

/** Behind these come the special tokens, which no text holds. */
const ORDINARY_TOKENS = 199_998;
