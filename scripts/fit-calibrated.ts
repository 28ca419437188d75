import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readEvalSession } from "../src/cli/eval/run-eval.ts";
import { findTranscriptFiles } from "../src/cli/files/find-files.ts";
import { measureTokens, type TokenStep } from "../src/eval/measures/measure-cost.ts";
import { quantileOf } from "../src/eval/report/summarize-recall.ts";
import { groupBy } from "../src/text/json.ts";
import { familyCost, type TokenFamily, tokenFamilyOf } from "../src/text/tokens/estimate-tokens.ts";

// Fits a family's scale and price of a call on half of the sessions and tells the error on the other half.
// The transcripts stay where they are: node scripts/run-ts.mjs scripts/fit-calibrated.ts <folder of sessions>

interface Costs {
  readonly scale: number;
  readonly callTokens: number;
}

const MIN_STEPS = 40;
const MEDIAN_BAR = 0.1;
const P90_BAR = 0.2;

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.error("usage: npm run fit:calibrated -- <folder of recorded sessions>");
  process.exit(2);
}
const halves = await readHalves(folders);
const families = [...groupBy([...halves.flat()], ({ model }) => tokenFamilyOf(model)).keys()];
for (const family of families) report(family);

async function readHalves(paths: readonly string[]): Promise<readonly [TokenStep[], TokenStep[]]> {
  const read: readonly [TokenStep[], TokenStep[]] = [[], []];
  for (const name of await findTranscriptFiles(paths)) {
    const bytes = readFileSync(name);
    const file = await readEvalSession(bytes, { name, branches: "file" });
    if (file.status === "unreadable") continue;
    const isOdd = (createHash("sha256").update(bytes).digest()[0] ?? 0) % 2 === 1;
    read[isOdd ? 1 : 0].push(...measureTokens(file.session));
  }
  return read;
}

function report(family: TokenFamily): void {
  const [one, other] = halves.map((steps) => steps.filter(({ model }) => tokenFamilyOf(model) === family));
  if (one === undefined || other === undefined || Math.min(one.length, other.length) < MIN_STEPS) {
    console.log(`${family}: ${one?.length ?? 0} and ${other?.length ?? 0} steps, too few to fit`);
    return;
  }
  console.log(`${family}: ${one.length} steps in one half, ${other.length} in the other`);
  console.log(
    `  as shipped ${show(familyCost(family))}: ${errors(one, familyCost(family))} | ${errors(other, familyCost(family))}`,
  );
  for (const [fittedOn, judgedOn, name] of [
    [one, other, "the first half, judged on the second"],
    [other, one, "the second half, judged on the first"],
  ] as const) {
    const costs = fitCosts(fittedOn);
    console.log(`  fitted on ${name} ${show(costs)}: ${errors(judgedOn, costs)}`);
  }
  const all = fitCosts([...one, ...other]);
  console.log(`  fitted on both ${show(all)}: ${errors([...one, ...other], all)}`);
}

/**
 * The costs whose errors stay furthest below both bars. Hosts add text that we do not see, so single steps cost more
 * than they show: the mean error would follow the many clear steps and let the others run away.
 */
function fitCosts(steps: readonly TokenStep[]): Costs {
  let best: { readonly costs: Costs; readonly error: number } | undefined;
  for (let percent = 90; percent <= 150; percent++) {
    for (let callTokens = 0; callTokens <= 200; callTokens += 5) {
      const costs = { scale: percent / 100, callTokens };
      const all = steps.map((step) => errorOf(step, costs));
      const error = quantileOf(all, 0.5) / MEDIAN_BAR + quantileOf(all, 0.9) / P90_BAR;
      if (best === undefined || error < best.error) best = { costs, error };
    }
  }
  return best?.costs ?? { scale: 1, callTokens: 0 };
}

function errorOf(step: TokenStep, costs: Costs): number {
  return Math.abs(estimate(step, costs) / step.usageTokens - 1);
}

function estimate({ unscaledTokens, calls }: TokenStep, { scale, callTokens }: Costs): number {
  return unscaledTokens * scale + calls * callTokens;
}

function errors(steps: readonly TokenStep[], costs: Costs): string {
  const all = steps.map((step) => errorOf(step, costs));
  const [counted, estimated] = [
    (step: TokenStep) => step.usageTokens,
    (step: TokenStep) => estimate(step, costs),
  ].map((tokens) => steps.reduce((sum, step) => sum + tokens(step), 0));
  const bias = (estimated ?? 0) / (counted ?? 1) - 1;
  return `median ${percent(quantileOf(all, 0.5))}, p90 ${percent(quantileOf(all, 0.9))}, bias ${percent(bias)}`;
}

function show({ scale, callTokens }: Costs): string {
  return `(scale ${scale}, ${callTokens} a call)`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
