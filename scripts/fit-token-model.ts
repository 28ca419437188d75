import { readFileSync, writeFileSync } from "node:fs";
import { createTokenCounter } from "../src/text/tokens/estimate-tokens.ts";
import { commonIdeographs, exactTokens } from "./token-model/exact-tokens.ts";
import { fitCosts, type Observation } from "./token-model/fit-costs.ts";
import { errorInterval, heldOutTexts, judge, judgementTable } from "./token-model/judge.ts";
import { fittedLexicon } from "./token-model/lexica.ts";
import { ideographGaps, modelSource, toModel } from "./token-model/model-source.ts";
import { createRandom, type Random } from "./token-model/random.ts";
import { ALL_KINDS } from "./token-model/sample-kinds.ts";
import { type Sampler, sampleChunks } from "./token-model/sampler.ts";

const MODEL_FILE = "src/text/tokens/model.ts";
const FIT_SEED = 1;
const FITTED_CHUNKS_PER_KIND = 150;
const HELD_OUT_SEED = 2;
const HELD_OUT_CHUNKS_PER_KIND = 60;
/** Each kind is weighted like this many tokens, whatever its size. */
const TOKENS_PER_KIND = 40_000;

const commonHan = ideographGaps(commonIdeographs());
const costs = fitCosts(Object.values(ALL_KINDS).flatMap(observe), commonHan);

const unjudged = { documented: { low: 1, high: 1 }, calibrated: { low: 1, high: 1 } };
const calibrated = createTokenCounter(toModel(costs, { commonHan, intervals: unjudged }));
const documented = (text: string): number => text.length / 4;
const heldOut = Object.entries(ALL_KINDS).map(
  ([kind, sampler]) =>
    [kind, heldOutTexts(sampler, { seed: HELD_OUT_SEED, count: HELD_OUT_CHUNKS_PER_KIND })] as const,
);
const all = heldOut.flatMap(([, texts]) => texts);
const intervals = { documented: errorInterval(all, documented), calibrated: errorInterval(all, calibrated) };
const source = modelSource(toModel(costs, { commonHan, intervals }));

console.log("Held-out error against o200k: mean [p95 of the absolute error]");
console.log(judgementTable(heldOut.map(([kind, texts]) => judge(kind, texts, calibrated))));
console.log("The exact count as a multiple of the estimate, 95 % of texts:", intervals);

if (process.argv.includes("--check")) {
  if (readFileSync(MODEL_FILE, "utf8") !== source)
    throw new Error(`${MODEL_FILE} is not what this script makes; run npm run fit:tokens`);
  console.log(`${MODEL_FILE} is up to date`);
} else {
  writeFileSync(MODEL_FILE, source);
  console.log(`wrote ${MODEL_FILE}`);
}

function observe(sampler: Sampler): readonly Observation[] {
  const random = createRandom(FIT_SEED);
  const chunks = sampleChunks(sampler, {
    random,
    lexicon: fittedLexicon,
    chars: 4000,
    count: FITTED_CHUNKS_PER_KIND,
  });
  const pieces = chunks.flatMap((text) => cut(random, text));
  const known = pieces.map((text) => ({ text, tokens: exactTokens(text) }));
  const totalTokens = known.reduce((sum, { tokens }) => sum + tokens, 0);
  return known.map((piece) => ({ ...piece, weight: TOKENS_PER_KIND / totalTokens }));
}

/** Cuts text into pieces of many lengths: short ones show how a word begins, long ones how it continues. */
function cut(random: Random, text: string): readonly string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; from += pieces.at(-1)?.length ?? 1)
    pieces.push(text.slice(from, from + 8 + random.below(120)));
  return pieces;
}
