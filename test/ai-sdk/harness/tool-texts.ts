/** A tool output of about this many bytes: lines as builds, logs and listings have them; the same for the same seed. */
export function toolText(seed: number, bytes: number): string {
  const random = randomFrom(seed);
  const lines: string[] = [];
  for (let size = 0; size < bytes; ) {
    const line = LINES[Math.floor(random() * LINES.length)]?.(random) ?? "";
    lines.push(line);
    size += line.length + 1;
  }
  return lines.join("\n");
}

/** A size between two others, most of them small, as outputs are. */
export function outputBytes(seed: number, { leastBytes, mostBytes }: OutputRange): number {
  const share = randomFrom(seed * 7 + 1)() ** 3;
  return Math.round(leastBytes * (mostBytes / leastBytes) ** share);
}

export interface OutputRange {
  readonly leastBytes: number;
  readonly mostBytes: number;
}

type Random = () => number;

const WORDS = "parser index session render socket reader buffer import module token window journal".split(
  " ",
);
const word = (random: Random): string => WORDS[Math.floor(random() * WORDS.length)] ?? "word";
const number = (random: Random, below: number): number => Math.floor(random() * below);

const LINES: readonly ((random: Random) => string)[] = [
  (random) =>
    `src/${word(random)}/${word(random)}.ts:${number(random, 900)}: ${word(random)} is not ${word(random)}`,
  (random) =>
    `[${number(random, 24)}:${number(random, 60)}] INFO ${word(random)} took ${number(random, 5000)} ms`,
  (random) => `export function ${word(random)}${number(random, 99)}(${word(random)}: string): number {`,
  (random) => `  ✓ ${word(random)} ${word(random)} ${word(random)} (${number(random, 300)} ms)`,
  (random) => `{"id":${number(random, 1e6)},"name":"${word(random)}-${word(random)}","ok":true}`,
];

function randomFrom(seed: number): Random {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
