import { writeFileSync } from "node:fs";
import { FIRST_CAPITAL_PAIR, FIRST_LETTER_PAIR, FIRST_MARK_PAIR, FIRST_PREFIX, NAMED_COSTS } from "../src/text/token-model-shape.ts";
import { MARK_COUNT } from "../src/text/token-model-symbols.ts";
import { createTokenCounter, PAIR_DIGITS, PAIR_STEP_TOKENS, type TokenModel } from "../src/text/token-model-tables.ts";
import { englishWords } from "./token-model/english-words.ts";
import { commonIdeographs, exactTokens } from "./token-model/exact-tokens.ts";
import { fitCosts, type Observation } from "./token-model/fit-costs.ts";
import { createRandom, type Random } from "./token-model/random.ts";
import { ALL_KINDS } from "./token-model/sample-kinds.ts";
import { sampleChunks } from "./token-model/sampler.ts";
import { scriptPhrases } from "./token-model/script-phrases.ts";

const SEED = 20_240_601;
const CHUNKS_PER_KIND = Number(process.env.CPK ?? 60);
const lexicon = { english: englishWords, scripts: scriptPhrases };

const observations: Observation[] = [];
for (const sampler of Object.values(ALL_KINDS)) {
  const random = createRandom(SEED);
  const chunks = sampleChunks(sampler, { random, lexicon, chars: 4000, count: CHUNKS_PER_KIND });
  const pieces = chunks.flatMap((text) => cut(random, text));
  const known = pieces.map((text) => ({ text, tokens: exactTokens(text) }));
  const total = known.reduce((sum, { tokens }) => sum + tokens, 0);
  observations.push(...known.map((piece) => ({ ...piece, weight: 40_000 / total })));
}

/** Pieces of many lengths: short ones tell how a word begins, long ones how it goes on. */
function cut(random: Random, text: string): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; from += pieces.at(-1)?.length ?? 1)
    pieces.push(text.slice(from, from + 8 + random.below(120)));
  return pieces;
}

const commonHan = commonIdeographs();
const costs = fitCosts(observations, commonHan);
const pairLines = (first: number, lineCount: number, width: number): readonly string[] =>
  Array.from({ length: lineCount }, (_, line) =>
    costs
      .slice(first + line * width, first + (line + 1) * width)
      .map((tokens) => PAIR_DIGITS.charAt(Math.min(63, Math.round(tokens / PAIR_STEP_TOKENS))))
      .join(""),
  );
const model: TokenModel = {
  named: Object.fromEntries(NAMED_COSTS.map((name, index) => [name, Math.round((costs[index] ?? 0) * 1000) / 1000])),
  letterPairs: pairLines(FIRST_LETTER_PAIR, 26, 26),
  capitalPairs: pairLines(FIRST_CAPITAL_PAIR, 26, 26),
  markPairs: pairLines(FIRST_MARK_PAIR, MARK_COUNT, MARK_COUNT),
  prefixes: pairLines(FIRST_PREFIX, 2, MARK_COUNT),
  commonHan,
  intervals: { documented: { low: 0.5, high: 2 }, calibrated: { low: 0.85, high: 1.15 } },
};
const count = createTokenCounter(model);
for (const [kind, sampler] of Object.entries(ALL_KINDS)) {
  const texts = sampleChunks(sampler, { random: createRandom(SEED + 1), lexicon, chars: 4000, count: 20 });
  const errors = texts.map((text) => count(text) / exactTokens(text) - 1);
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  console.log(kind, (mean * 100).toFixed(1));
}
writeFileSync(process.argv[2] ?? "src/text/token-model.ts", JSON.stringify(model));
