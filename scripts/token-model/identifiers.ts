import type { Lexicon } from "./lexicon.ts";
import type { Random } from "./random.ts";
import { BASE64, capitalized, DIGITS, draw, HEX, LOWER, repeat } from "./sampler.ts";

/** Names and values of programs, drawn from one lexicon. */
export interface Names {
  /** `word`, as programs use it; now and then an abbreviation. */
  word(): string;
  camel(): string;
  pascal(): string;
  snake(): string;
  constant(): string;
  kebab(): string;
  /** A path of a file, with directories. */
  path(): string;
  packageName(): string;
  version(): string;
  url(): string;
  uuid(): string;
  isoTime(): string;
  number(): string;
  words(count: number): string;
  /** The source of a regular expression. */
  pattern(): string;
}

export function createNames(random: Random, { english }: Lexicon): Names {
  const word = (): string => {
    const roll = random.below(100);
    if (roll < 40) return random.pick(english.staple);
    if (roll < 53) return random.pick(english.short);
    if (roll < 57) return random.pick(english.plain);
    if (roll < 60) return random.pick(english.code) + random.pick([...english.short, ...ENDINGS_OF_WORDS]);
    return random.pick(english.code);
  };
  const camel = (): string => {
    const count = random.pick([1, 1, 1, 2, 2, 3]);
    return repeat(count, (index) => (index === 0 ? word() : capitalized(word())));
  };
  const names: Names = {
    word,
    camel,
    pascal: () => capitalized(camel()),
    snake: () => repeat(random.pick([1, 2, 2, 3]), word, "_"),
    constant: () => repeat(random.pick([1, 2, 2, 3]), word, "_").toUpperCase(),
    kebab: () => repeat(random.pick([1, 2, 2, 3]), word, "-"),
    path: () => {
      const folders = repeat(
        1 + random.below(4),
        () => random.pick([word(), names.kebab(), random.pick(FOLDERS)]),
        "/",
      );
      return `${random.pick(["", "", "./", "../", "/", `/home/${random.pick(english.names).toLowerCase()}/`, `/Users/${random.pick(english.names).toLowerCase()}/${capitalized(word())}/`])}${folders}/${names.kebab()}${random.pick(ENDINGS)}`;
    },
    packageName: () =>
      random.chance(25) ? `@${word()}/${random.pick(english.packages)}` : random.pick(english.packages),
    version: () => `${random.below(9)}.${random.below(20)}.${random.below(12)}`,
    url: () =>
      `https://${random.pick(["www.", "api.", "", "docs."])}${word()}${random.pick([".com", ".org", ".io", ".dev"])}/${names.kebab()}/${names.snake()}${random.pick(["", `?${word()}=${names.number()}`, `#${names.kebab()}`])}`,
    uuid: () => [8, 4, 4, 4, 12].map((count) => draw(random, HEX, count)).join("-"),
    isoTime: () =>
      `20${two(random, 30)}-${two(random, 13)}-${two(random, 29)}T${two(random, 24)}:${two(random, 60)}:${two(random, 60)}.${draw(random, DIGITS, 3)}Z`,
    number: () =>
      random.pick([
        draw(random, DIGITS, 1),
        `${random.below(1000)}`,
        `${random.below(90000)}`,
        `0.${random.below(999)}`,
      ]),
    words: (count) =>
      repeat(
        count,
        () =>
          random.chance(30)
            ? random.pick(english.glue)
            : random.chance(50)
              ? random.pick(english.plain)
              : word(),
        " ",
      ),
    pattern: () =>
      repeat(
        2 + random.below(5),
        () =>
          random.pick(PATTERN_PIECES) +
          random.pick(["", "", word(), `(?:${word()}|${word()})`, `[^${random.pick(PATTERN_PIECES)}]*`]),
      ),
  };
  return names;
}

const ENDINGS_OF_WORDS = ["able", "er", "ify", "less", "name", "set"];
const PATTERN_PIECES = [
  ..."^|$|\\s*|\\n+|\\d{1,3}|[a-zA-Z]|[a-zA-Z0-9._-]+|(?=|(?!|)|)?|*?|(.*?)|[^\\n]*|\\.|\\/|{0,3}|[ \\t]|\\\\|\\[|\\]|(?:|)+|[*+-]|\"|'|`{3,}|<\\/?|>|\\b|\\w+|$/g|/i,|[!#$%&'*+/=?^_{|}~-]|\\u00a0-\\uffff".split(
    "|",
  ),
];
const FOLDERS = [
  "src",
  "lib",
  "dist",
  "test",
  "packages",
  "node_modules",
  "docs",
  "app",
  "internal",
  "cmd",
  "usr",
  "var",
];
const ENDINGS = [
  ".ts",
  ".js",
  ".tsx",
  ".json",
  ".md",
  ".go",
  ".py",
  ".test.ts",
  ".log",
  ".yaml",
  "",
  ".txt",
  ".css",
];

/** A number below `below` in two digits. */
export function two(random: Random, below: number): string {
  return String(random.below(below)).padStart(2, "0");
}

/** A hash or token as tools print them. */
export function digest(random: Random): string {
  return random.pick([
    () => draw(random, HEX, 40),
    () => draw(random, HEX, 7),
    () => draw(random, HEX, 64),
    () => `sha512-${draw(random, BASE64, 86)}==`,
    () => draw(random, LOWER + DIGITS, 24),
    () => `sk-${draw(random, BASE64.slice(0, 62), 32)}`,
  ])();
}
