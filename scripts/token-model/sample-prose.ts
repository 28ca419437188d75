import { createNames } from "./identifiers.ts";
import type { Lexicon } from "./lexicon.ts";
import type { Random } from "./random.ts";
import { capitalized, repeat, type Sampler } from "./sampler.ts";

/** English paragraphs, as one line each or wrapped. */
export const prose: Sampler = (random, lexicon) => {
  const text = repeat(2 + random.below(5), () => sentence(random, lexicon), " ");
  return `${random.chance(40) ? wrapped(text) : text}\n\n`;
};

/** One English sentence. */
export function sentence(random: Random, lexicon: Lexicon): string {
  const count = 5 + random.below(18);
  const text = repeat(count, (index) => spoken(random, lexicon, index), " ");
  const ended = capitalized(text).replace(/,$/, "");
  if (random.chance(3)) return `${ended.toUpperCase()}.`;
  if (random.chance(8)) return `“${ended},” ${random.pick(["he", "she", "they"])} said.`;
  if (random.chance(8)) return `"${ended}?"`;
  return ended + random.pick([".", ".", ".", ".", ".", "!", "?", "...", ":", ";"]);
}

function spoken(random: Random, { english }: Lexicon, index: number): string {
  const roll = random.below(1000);
  if (roll < 8 && index > 0) return `${1 + random.below(2030)}`;
  if (roll < 14)
    return random.pick(["don't", "it's", "I'm", "they're", "wouldn't", "we'll", "he'd", "that's", "I"]);
  if (roll < 50) return random.pick(english.names);
  if (roll < 58) return `${random.pick(english.names)}'s`;
  if (roll < 62) return `(${random.pick(english.plain)} ${random.pick(english.plain)})`;
  if (roll < 66) return `${random.pick(english.plain)}—${random.pick(english.glue)}`;
  if (roll < 74) return `${random.pick(english.plain)}-${random.pick(english.plain)}`;
  if (roll < 105) return random.pick(english.long);
  const word = roll < 560 ? random.pick(english.glue) : inflected(random, random.pick(english.plain));
  return random.chance(7) ? `${word},` : word;
}

/** A word with the endings that running text gives it. */
function inflected(random: Random, word: string): string {
  const stem = word.endsWith("e") ? word.slice(0, -1) : word;
  const roll = random.below(100);
  if (word.length > 8) return word;
  if (roll < 14) return word.endsWith("s") || word.endsWith("y") ? word : `${word}s`;
  if (roll < 22) return word.endsWith("ed") || word.endsWith("y") ? word : `${stem}ed`;
  if (roll < 29) return `${stem}ing`;

  return word;
}

function wrapped(text: string): string {
  return text.replace(/(.{55,72}) /g, "$1\n");
}

/** Sentences of one script, with the punctuation that it uses. */
function scripted(phrases: (lexicon: Lexicon) => readonly string[], marks: ScriptMarks): Sampler {
  return (random, lexicon) => {
    const paragraph = repeat(2 + random.below(6), () => {
      const text = repeat(1 + random.below(3), () => random.pick(phrases(lexicon)), marks.comma);
      const inserted = random.chance(marks.latinPercent)
        ? `${marks.comma}${random.pick(lexicon.english.code)}${marks.comma}`
        : "";
      return (marks.capital ? capitalized(text + inserted) : text + inserted) + random.pick(marks.ends);
    });
    return `${paragraph}\n\n`;
  };
}

interface ScriptMarks {
  readonly comma: string;
  readonly ends: readonly string[];
  readonly capital: boolean;
  readonly latinPercent: number;
}

const EAST_ASIAN: ScriptMarks = {
  comma: "，",
  ends: ["。", "。", "。", "！", "？", "；", "：", "。“", "”。"],
  capital: false,
  latinPercent: 8,
};
const WESTERN: ScriptMarks = {
  comma: ", ",
  ends: [". ", ". ", ". ", "! ", "? ", ": ", "; ", ".\n", " — "],
  capital: true,
  latinPercent: 6,
};

/** Documentation of one script: headings, lists, names of programs between its words. */
function documented(phrases: (lexicon: Lexicon) => readonly string[], marks: ScriptMarks): Sampler {
  return (random, lexicon) => {
    const code = createNames(random, lexicon);
    const phrase = (): string => random.pick(phrases(lexicon));
    const piece = (): string =>
      phrase()
        .slice(0, 2 + random.below(8))
        .trim();
    return random.pick([
      () => `${"#".repeat(1 + random.below(3))} ${piece()} ${code.pascal()} {#${code.kebab()}}\n\n`,
      () =>
        `- \`${code.camel()}\`${random.pick([" - ", ": ", "："])}${phrase()} \`${code.word()}\` ${piece()}${random.pick(marks.ends)}\n`,
      () =>
        `${phrase()} **${piece()}** ${piece()} ${code.word()} ${phrase()} [${piece()}](${code.url()})${random.pick(marks.ends)}`,
      () =>
        `${piece()}“{0}”${piece()}“${code.camel()}”${marks.comma}${phrase()}(${code.number()})${random.pick(marks.ends)}\n`,
      () =>
        `${phrase()}（${piece()}）《${piece()}》「${piece()}」${code.number()} ${piece()}${random.pick(marks.ends)}\n`,
      () =>
        `${1 + random.below(9)}. ${piece()}（${code.pascal()}）${phrase()}${code.number()}${piece()}${random.pick(marks.ends)}\n`,
      () => `"${code.camel()}": "${phrase()}",\n`,
      () => `// ${phrase()}\nconst ${code.camel()} = ${code.camel()}("${piece()}");\n\n`,
    ])();
  };
}

export const chinese: Sampler = scripted(({ scripts }) => scripts.chinese, EAST_ASIAN);
export const russian: Sampler = scripted(({ scripts }) => scripts.russian, WESTERN);
export const japanese: Sampler = scripted(({ scripts }) => scripts.japanese, { ...EAST_ASIAN, comma: "、" });
export const korean: Sampler = scripted(({ scripts }) => scripts.korean, WESTERN);
export const arabic: Sampler = scripted(({ scripts }) => scripts.arabic, { ...WESTERN, comma: "، " });
export const european: Sampler = scripted(({ scripts }) => scripts.european, WESTERN);
export const otherScripts: Sampler = scripted(({ scripts }) => scripts.others, WESTERN);

export const eastAsianDocuments: Sampler = (random, lexicon) =>
  random.pick([
    documented(({ scripts }) => scripts.chinese, EAST_ASIAN),
    documented(({ scripts }) => scripts.chinese, EAST_ASIAN),
    documented(({ scripts }) => scripts.japanese, EAST_ASIAN),
  ])(random, lexicon);
export const otherDocuments: Sampler = (random, lexicon) =>
  random.pick([
    documented(({ scripts }) => scripts.russian, WESTERN),
    documented(({ scripts }) => scripts.korean, WESTERN),
    documented(({ scripts }) => scripts.european, WESTERN),
    documented(({ scripts }) => scripts.arabic, WESTERN),
    documented(({ scripts }) => scripts.others, WESTERN),
  ])(random, lexicon);
