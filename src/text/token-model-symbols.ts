/** How many symbols the token model tells apart. */
export const SYMBOL_COUNT = 108;

/** The scripts beyond ASCII letters, in the order of their symbols. */
export const SCRIPTS = [
  "latin",
  "cyrillic",
  "greek",
  "hebrew",
  "arabic",
  "indic",
  "thai",
  "kana",
  "han-common",
  "han-rare",
  "hangul",
  "other",
  "rare",
] as const;

/** The marks beyond ASCII punctuation, in the order of their symbols. */
export const WIDE_MARKS = [
  "control",
  "typographic",
  "cjk",
  "picture",
  "joiner",
  "high-surrogate",
  "low-surrogate",
] as const;

export type Script = (typeof SCRIPTS)[number];
export type WideMark = (typeof WIDE_MARKS)[number];

const ASCII_MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

export const FIRST_LOWER = 0;
export const FIRST_UPPER = 26;
export const FIRST_SCRIPT = 52;
export const FIRST_MARK: number = FIRST_SCRIPT + SCRIPTS.length;
export const FIRST_WIDE_MARK: number = FIRST_MARK + ASCII_MARKS.length;
export const MARK_COUNT: number = ASCII_MARKS.length + WIDE_MARKS.length;
export const DIGIT: number = FIRST_MARK + MARK_COUNT;
export const SPACE: number = DIGIT + 1;
export const TAB: number = DIGIT + 2;
export const NEWLINE: number = DIGIT + 3;

/** For each UTF-16 unit its symbol. `commonHan` lists the ideographs that often share a token with their neighbour. */
export function symbolTable(commonHan: string): Uint8Array {
  const table = new Uint8Array(65536).fill(scriptSymbol("rare"));
  table.fill(markSymbol("control"), 0, 0x80);
  for (let letter = 0; letter < 26; letter++) {
    table[97 + letter] = FIRST_LOWER + letter;
    table[65 + letter] = FIRST_UPPER + letter;
  }
  for (let digit = 48; digit < 58; digit++) table[digit] = DIGIT;
  for (let index = 0; index < ASCII_MARKS.length; index++)
    table[ASCII_MARKS.charCodeAt(index)] = FIRST_MARK + index;
  for (const [script, from, to] of SCRIPT_RANGES) table.fill(scriptSymbol(script), from, to + 1);
  for (const [mark, from, to] of MARK_RANGES) table.fill(markSymbol(mark), from, to + 1);
  for (let index = 0; index < commonHan.length; index++)
    table[commonHan.charCodeAt(index)] = scriptSymbol("han-common");
  for (const unit of BLANKS) table[unit] = TAB;
  table[0x20] = SPACE;
  table[0x0a] = NEWLINE;
  table[0x0d] = NEWLINE;
  return table;
}

/** The symbol of a script's letters. */
export function scriptSymbol(script: Script): number {
  return FIRST_SCRIPT + SCRIPTS.indexOf(script);
}

/** The symbol of a class of marks. */
export function markSymbol(mark: WideMark): number {
  return FIRST_WIDE_MARK + WIDE_MARKS.indexOf(mark);
}

const SCRIPT_RANGES: readonly (readonly [Script, number, number])[] = [
  ["latin", 0xaa, 0xaa],
  ["latin", 0xb5, 0xb5],
  ["latin", 0xba, 0xba],
  ["latin", 0xc0, 0x24f],
  ["latin", 0x1e00, 0x1eff],
  ["greek", 0x370, 0x3ff],
  ["greek", 0x1f00, 0x1fff],
  ["cyrillic", 0x400, 0x52f],
  ["other", 0x530, 0x58f],
  ["hebrew", 0x590, 0x5ff],
  ["arabic", 0x600, 0x6ff],
  ["arabic", 0x750, 0x77f],
  ["indic", 0x900, 0xdff],
  ["thai", 0xe00, 0xe7f],
  ["other", 0x1000, 0x10ff],
  ["other", 0x1780, 0x17ff],
  ["other", 0x1c90, 0x1cbf],
  ["kana", 0x3041, 0x30ff],
  ["han-rare", 0x3400, 0x4dbf],
  ["han-rare", 0x4e00, 0x9fff],
  ["hangul", 0xac00, 0xd7a3],
  ["han-rare", 0xf900, 0xfaff],
];

const MARK_RANGES: readonly (readonly [WideMark, number, number])[] = [
  ["control", 0x80, 0x9f],
  ["typographic", 0xa1, 0xa9],
  ["typographic", 0xab, 0xb4],
  ["typographic", 0xb6, 0xb9],
  ["typographic", 0xbb, 0xbf],
  ["typographic", 0xd7, 0xd7],
  ["typographic", 0xf7, 0xf7],
  ["joiner", 0x300, 0x36f],
  ["joiner", 0x200b, 0x200f],
  ["typographic", 0x2010, 0x2027],
  ["joiner", 0x202a, 0x202e],
  ["typographic", 0x2030, 0x205e],
  ["joiner", 0x2060, 0x206f],
  ["typographic", 0x2070, 0x20ff],
  ["picture", 0x2100, 0x2bff],
  ["cjk", 0x3001, 0x303f],
  ["cjk", 0x30fb, 0x30fb],
  ["picture", 0x3200, 0x33ff],
  ["high-surrogate", 0xd800, 0xdbff],
  ["low-surrogate", 0xdc00, 0xdfff],
  ["picture", 0xe000, 0xf8ff],
  ["joiner", 0xfe00, 0xfe0f],
  ["cjk", 0xfe10, 0xfe6f],
  ["joiner", 0xfeff, 0xfeff],
  ["cjk", 0xff01, 0xff0f],
  ["cjk", 0xff1a, 0xff20],
  ["cjk", 0xff3b, 0xff40],
  ["cjk", 0xff5b, 0xff65],
  ["picture", 0xfff0, 0xffff],
];

const BLANKS: readonly number[] = [
  0x09, 0x0b, 0x0c, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
  0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
];
