import { PROVIDERS } from "../test/ai-sdk/harness/scripted-provider.ts";
import { baselines, forgetful, ownPolicy } from "./ai-sdk/policies.ts";
import { type LoopResult, runLoop } from "./ai-sdk/run-loop.ts";
import { printTable } from "./measure.ts";

const STEPS = 320;
const WINDOWS = [16_000, 32_000, 128_000, 200_000];
const OUTPUTS = { "as they are": {}, "cut at 8,000 characters": { cappedAtChars: 8_000 } } as const;

/** Prints what an agent's loop costs with us and with what people do without us; a loop dies with its first refusal. */
export async function benchAiSdk(): Promise<void> {
  for (const [outputs, cap] of Object.entries(OUTPUTS)) {
    const head = ["", ...WINDOWS.map((window) => `${window / 1_000}k`)];
    const rows: string[][] = [head];
    const shownLines: string[][] = [head];
    const own: LoopResult[] = [];
    const best = WINDOWS.map(() => Number.POSITIVE_INFINITY);
    for (const policy of [ownPolicy, ...baselines, forgetful]) {
      const cells: string[] = [];
      const shares: string[] = [];
      for (const [column, windowTokens] of WINDOWS.entries()) {
        const thinking = policy === ownPolicy ? "bound" : "free";
        const script = { steps: STEPS, windowTokens, thinking, ...cap } as const;
        const result = await runLoop({ policy, provider: "anthropic", ...script });
        cells.push(shown(result));
        shares.push(result.diedAtStep === undefined ? `${Math.round(100 * result.shownShare)} %` : "-");
        if (policy === ownPolicy) own.push(result);
        else if (policy !== forgetful && result.diedAtStep === undefined)
          best[column] = Math.min(best[column] ?? 0, result.usd);
      }
      rows.push([policy.name, ...cells]);
      shownLines.push([policy.name, ...shares]);
    }
    rows.push(["of the best baseline", ...own.map(({ usd }, column) => share(usd, best[column] ?? 0))]);
    printTable(`${STEPS} steps at the prices of Claude Sonnet, outputs ${outputs}`, rows);
    printTable("Lines of the ten newest outputs that a request holds", shownLines);
  }
  await benchWires();
}

/** The same loop, shorter, on every way to a model. */
async function benchWires(): Promise<void> {
  const rows: string[][] = [["", "price", "summaries", "refused", "faults", "largest request"]];
  for (const provider of [...PROVIDERS, "gemini"] as const) {
    const result = await runLoop({ policy: ownPolicy, provider, steps: 60, windowTokens: 32_000 });
    const { summaries, refusals, faults, largestTokens } = result;
    rows.push([provider, shown(result), ...[summaries, refusals, faults, largestTokens].map(String)]);
  }
  printTable("60 steps in a window of 32k with Carryover, outputs as they are", rows);
}

function shown({ diedAtStep, usd }: LoopResult): string {
  return diedAtStep === undefined ? `$${usd.toFixed(2)}` : `dies at ${diedAtStep}`;
}

function share(usd: number, bestUsd: number): string {
  return Number.isFinite(bestUsd) ? (usd / bestUsd).toFixed(2) : "alone";
}
