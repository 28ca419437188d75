import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { measure } from "mitata";
import { estimateTokenCount } from "tokenx";
import { exactTokens } from "../scripts/token-model/exact-tokens.ts";
import { heldOutLexicon } from "../scripts/token-model/lexica.ts";
import { createRandom } from "../scripts/token-model/random.ts";
import { BOUNDED_KINDS } from "../scripts/token-model/sample-kinds.ts";
import { sampleChunks } from "../scripts/token-model/sampler.ts";
import { estimateTokens } from "../src/text/tokens/estimate-tokens.ts";
import { printTable } from "./measure.ts";

const CHUNK_CHARS = 4_000;
const CHUNKS_PER_KIND = 100;
const PLAIN = { disallowedSpecial: new Set<string>() };

/** Who counts. The exact tokenizer comes last: the others are compared with it. */
const COUNTERS: readonly Counter[] = [
  { name: "calibrated", count: (text) => estimateTokens(text, { estimator: "calibrated" }) },
  { name: "documented", count: (text) => estimateTokens(text) },
  { name: "tokenx 2.2.0", count: (text) => estimateTokenCount(text) },
  { name: "gpt-tokenizer 4.0.0", count: (text) => encode(text, PLAIN).length },
];

interface Counter {
  readonly name: string;
  readonly count: (text: string) => number;
}

/** Prints speed and error of the token counters, over the same texts in the same process. */
export async function benchTokens(): Promise<void> {
  const speed = [["text", ...COUNTERS.map(({ name }) => name), "calibrated / tokenx", "/ gpt-tokenizer"]];
  const error = [["text", ...COUNTERS.slice(0, 3).map(({ name }) => name)]];
  for (const [kind, sampler] of Object.entries(BOUNDED_KINDS)) {
    const random = createRandom(7);
    const texts = sampleChunks(sampler, {
      random,
      lexicon: heldOutLexicon,
      chars: CHUNK_CHARS,
      count: CHUNKS_PER_KIND,
    });
    const exact = texts.map(exactTokens);
    const rates: number[] = [];
    for (const { count } of COUNTERS) rates.push(await megabytesPerSecond(texts, count));
    const [calibrated = 0, , tokenx = 0, tokenizer = 0] = rates;
    speed.push([
      kind,
      ...rates.map((rate) => (rate > 9_999 ? "–" : rate.toFixed(rate < 10 ? 1 : 0))),
      `${(calibrated / tokenx).toFixed(1)}x`,
      `${(calibrated / tokenizer).toFixed(0)}x`,
    ]);
    error.push([kind, ...COUNTERS.slice(0, 3).map(({ count }) => errorOf(texts, exact, count))]);
  }
  printTable(
    "Token counting, MB/s (a character counts as a byte; 4,000 a text; a dash: it reads no text)",
    speed,
  );
  printTable("Error against o200k, mean % [p95 of the absolute error]", error);
}

async function megabytesPerSecond(
  texts: readonly string[],
  count: (text: string) => number,
): Promise<number> {
  // The fastest run: other work only adds time.
  const { min } = await measure(
    () => {
      let tokens = 0;
      for (const text of texts) tokens += count(text);
      return tokens;
    },
    { min_cpu_time: 4e8, min_samples: 5, warmup_samples: 2 },
  );
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  return (chars / 1e6) * (1e9 / min);
}

function errorOf(
  texts: readonly string[],
  exact: readonly number[],
  count: (text: string) => number,
): string {
  const errors = texts.map((text, index) => count(text) / (exact[index] ?? 1) - 1);
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  const sorted = errors.map(Math.abs).sort((a, b) => a - b);
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? 0;
  return `${mean > 0 ? "+" : ""}${(mean * 100).toFixed(1)} [${(p95 * 100).toFixed(1)}]`;
}
