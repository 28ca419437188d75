/**
 * The search terms of a word: its stem, and for `parseConfigFile`, `parse_config_file` or `TS2345` also the stems of
 * its parts. Case and accents do not matter.
 */
export function termsOf(word: string): WordTerms {
  if (word.length > MAX_WORD_CHARS) return { parts: [fold(word.slice(0, MAX_WORD_CHARS))] };
  const pieces = SIMPLE_WORD.test(word) ? [word] : word.split(PART_BORDER).filter((piece) => piece !== "");
  if (pieces.length <= 1) return { parts: [stem(fold(pieces[0] ?? word))] };
  const whole = stem(fold(/^[\d.]+$/.test(word) ? word : pieces.join("")));
  const parts = new Set(pieces.filter(({ length }) => length > 1).map((piece) => stem(fold(piece))));
  return parts.size === 0 ? { parts: [whole] } : { parts: [...parts], whole };
}

/** `whole` is set for a word of several parts. */
interface WordTerms {
  readonly parts: readonly string[];
  readonly whole?: string;
}

/** Longer words are encoded data, which is not searched by parts. */
const MAX_WORD_CHARS = 64;
const SIMPLE_WORD = /^(?:[A-Z]?[a-z]+|[A-Z]+|\d+)$/;
const PART_BORDER =
  /[_.]+|(?<=[\p{Ll}\p{Lo}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;

function fold(word: string): string {
  const lower = word.toLowerCase();
  return NOT_ASCII.test(lower) ? lower.normalize("NFKD").replace(MARKS, "") : lower;
}

const NOT_ASCII = /[^\0-\x7f]/;
const MARKS = /\p{M}+/gu;

/** Removes English endings of plurals, past and continuous forms, by rules. */
function stem(word: string): string {
  if (word.length < 4 || NOT_ENGLISH.test(word)) return word;
  const single = withoutPlural(word);
  const base = withoutVerbEnding(single);
  return base.length > 4 && base.endsWith("e") ? base.slice(0, -1) : base;
}

const NOT_ENGLISH = /[^a-z]/;

function withoutPlural(word: string): string {
  if (!word.endsWith("s") || /(?:ss|us|is)$/.test(word)) return word;
  if (word.endsWith("ies") && word.length > 4) return `${word.slice(0, -3)}y`;
  return /(?:ss|sh|ch|x|z)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1);
}

function withoutVerbEnding(word: string): string {
  const base = /(?:ing|(?<!e)ed)$/.test(word) ? word.slice(0, word.endsWith("ing") ? -3 : -2) : word;
  if (base === word || base.length < 4) return word;
  return /([bdgmnprt])\1$/.test(base) ? base.slice(0, -1) : base;
}

/** Stop words, as `termsOf` gives them: function words and words of questions such as "show" and "find". */
export const STOP_TERMS: ReadonlySet<string> = new Set(
  [
    ..."a an the this that these those here there it its they them their he she his her we us our you your i me my".split(
      " ",
    ),
    ..."is are was were be been being am do does did done doing have has had having can could will would shall should may might must".split(
      " ",
    ),
    ..."what which who whom whose when where why how and or but if then than so not no nor of in on at to from by for with about into onto over under as".split(
      " ",
    ),
    ..."again before after any all some such only just also too very please tell show find give said say says saw see seen".split(
      " ",
    ),
  ].flatMap((word) => termsOf(word).parts),
);
