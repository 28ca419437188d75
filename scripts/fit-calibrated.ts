import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readEvalSession } from "../src/cli/eval/run-eval.ts";
import { findTranscriptFiles } from "../src/cli/files/find-files.ts";
import { measurePrompts, type PromptStep } from "../src/eval/measures/measure-prompts.ts";
import { tokenError } from "../src/eval/report/summarize-tokens.ts";
import { tokenFamilyOf } from "../src/models/token-family.ts";
import { groupBy } from "../src/text/group-by.ts";
import { familyCost, type TokenFamily } from "../src/text/tokens/estimate-tokens.ts";

// Fits a family's scale and price of a call to the prompts of one half of the sessions and tells the error on the other.
// The transcripts stay where they are: node scripts/run-ts.mjs scripts/fit-calibrated.ts <folder of sessions>

interface Costs {
  readonly scale: number;
  readonly callTokens: number;
}

const MIN_REQUESTS = 40;
const MEDIAN_BAR = 0.08;
const P90_BAR = 0.22;
const BIAS_BAR = 0.04;
const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.error("usage: npm run fit:calibrated -- <folder of recorded sessions>");
  process.exit(2);
}
const halves = await readHalves(folders);
const families = [...groupBy([...halves.flat()], ({ model }) => tokenFamilyOf({ id: model })).keys()];
for (const family of families) report(family);

async function readHalves(paths: readonly string[]): Promise<readonly [PromptStep[], PromptStep[]]> {
  const read: readonly [PromptStep[], PromptStep[]] = [[], []];
  for (const name of await findTranscriptFiles(paths)) {
    const bytes = readFileSync(name);
    const file = await readEvalSession(bytes, { name, branches: "file" });
    if (file.status === "unreadable") continue;
    const isOdd = (createHash("sha256").update(bytes).digest()[0] ?? 0) % 2 === 1;
    read[isOdd ? 1 : 0].push(...measurePrompts(file.session).filter(({ isComparable }) => isComparable));
  }
  return read;
}

function report(family: TokenFamily): void {
  const [one = [], other = []] = halves.map((steps) =>
    steps.filter(({ model }) => tokenFamilyOf({ id: model }) === family),
  );
  console.log(`${family}: ${one.length} requests in one half, ${other.length} in the other`);
  const shipped = familyCost(family);
  console.log(`  as shipped ${show(shipped)}`);
  printErrors([...one, ...other], shipped);
  if (Math.min(one.length, other.length) < MIN_REQUESTS) return;
  for (const [fittedOn, judgedOn, name] of [
    [one, other, "the first half, judged on the second"],
    [other, one, "the second half, judged on the first"],
  ] as const) {
    const costs = fitCosts(fittedOn);
    console.log(`  fitted on ${name} ${show(costs)}`);
    printErrors(judgedOn, costs);
  }
}

/** Finds the costs with the smallest errors relative to the limits; every model of the family has the same weight. */
function fitCosts(steps: readonly PromptStep[]): Costs {
  const models = [...groupBy([...steps], ({ model }) => model).values()].filter(
    ({ length }) => length >= MIN_REQUESTS,
  );
  let best: { readonly costs: Costs; readonly error: number } | undefined;
  for (let percent = 90; percent <= 180; percent += 1) {
    for (let callTokens = 0; callTokens <= 120; callTokens += 10) {
      const costs = { scale: percent / 100, callTokens };
      const error = models.reduce((sum, ofModel) => {
        const { median, p90, bias } = errorsOf(ofModel, costs);
        return sum + median / MEDIAN_BAR + p90 / P90_BAR + Math.abs(bias) / BIAS_BAR;
      }, 0);
      if (best === undefined || error < best.error) best = { costs, error };
    }
  }
  return best?.costs ?? { scale: 1, callTokens: 0 };
}

/** The errors of estimates with other costs than those that ship. */
function errorsOf(steps: readonly PromptStep[], { scale, callTokens }: Costs) {
  return tokenError(
    steps.map(({ model, estimatedTokens, promptTokens, unscaledTokens, calls }) => {
      const shipped = familyCost(tokenFamilyOf({ id: model }));
      const more = unscaledTokens * (scale - shipped.scale) + calls * (callTokens - shipped.callTokens);
      return [estimatedTokens + more, promptTokens];
    }),
  );
}

function printErrors(steps: readonly PromptStep[], costs: Costs): void {
  for (const [model, ofModel] of groupBy([...steps], (step) => step.model)) {
    if (ofModel.length < MIN_REQUESTS) continue;
    const { median, p90, bias } = errorsOf(ofModel, costs);
    console.log(
      `    ${model}, ${ofModel.length} requests: median ${percent(median)}, p90 ${percent(p90)}, bias ${percent(bias)}`,
    );
  }
}

function show({ scale, callTokens }: Costs): string {
  return `(scale ${scale}, ${callTokens} a call)`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
