/** A set of ASCII characters that tokens are written in. */
export interface Alphabet {
  has(code: number): boolean;
  /** The index behind the run of these characters that starts at the index. */
  endOfRun(text: string, startIndex: number): number;
}

/** Makes an alphabet from the inside of a regular expression's character class. */
export function createAlphabet(characters: string): Alphabet {
  const member = new RegExp(`[${characters}]`);
  const isMember = new Uint8Array(128).map((_, code) => (member.test(String.fromCharCode(code)) ? 1 : 0));
  return {
    has: (code) => code < 128 && isMember[code] === 1,
    endOfRun: (text, startIndex) => {
      let index = startIndex;
      while (index < text.length) {
        const code = text.charCodeAt(index);
        if (code >= 128 || isMember[code] !== 1) break;
        index++;
      }
      return index;
    },
  };
}

export const HEX: Alphabet = createAlphabet("0-9a-fA-F");

export const DIGITS: Alphabet = createAlphabet("0-9");

export const UPPER: Alphabet = createAlphabet("A-Z0-9");

export const LOWER: Alphabet = createAlphabet("a-z0-9");

export const ALPHANUMERIC: Alphabet = createAlphabet("A-Za-z0-9");

export const WORD: Alphabet = createAlphabet("A-Za-z0-9_-");

export const DOTTED: Alphabet = createAlphabet("A-Za-z0-9_.-");

export const PADDED: Alphabet = createAlphabet("A-Za-z0-9_.=-");

export const BASE64: Alphabet = createAlphabet("A-Za-z0-9+/=");

export const ANY_BASE64: Alphabet = createAlphabet("A-Za-z0-9_+/=-");

export const URL_ENCODED: Alphabet = createAlphabet("A-Za-z0-9_%+/=-");

export const HEADER_TOKEN: Alphabet = createAlphabet("A-Za-z0-9_.+/=~-");
