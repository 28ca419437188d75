import { fill } from "../src/eval/measures/policies.ts";
import { plainMessages } from "../src/eval/probe/history-text.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { outcomeText } from "../src/transcript/content.ts";
import type { Transcript } from "../src/transcript/message.ts";
import { generateSession } from "./generate-session.ts";
import { printTable, ratioOf } from "./measure.ts";

const BUDGETS_CHARS = [25_000, 50_000, 100_000, 200_000];

/**
 * Prints what filling a budget costs beside writing the whole history once and beside reading each of its characters
 * once, and how that grows. The bar against plain text is for recorded sessions (`carryover eval --measure speed`):
 * plain text of nothing but ASCII, as here, is only copied.
 */
export async function benchFill(): Promise<void> {
  const rows: string[][] = [["history", "budget", "fill / plain text", "fill / reading it"]];
  for (const results of [30, 300]) {
    const history = historyOf(results);
    const chars = charsOf(history).toLocaleString("en-US");
    for (const budgetChars of BUDGETS_CHARS) {
      const run = () => fill.run(history, budgetChars);
      const againstPlain = await ratioOf(run, () => charsOf(history));
      const againstReading = await ratioOf(run, () => readAll(history));
      rows.push([
        `${chars} chars`,
        budgetChars.toLocaleString("en-US"),
        `${againstPlain.toFixed(1)}x`,
        `${againstReading.toFixed(1)}x`,
      ]);
    }
  }
  printTable("Filling a budget", rows);

  const growth: string[][] = [["results", "against half of them", "bar"]];
  for (const results of [200, 400, 800]) {
    const [half, whole] = [historyOf(results / 2), historyOf(results)];
    const ratio = await ratioOf(
      () => fill.run(whole, 50_000),
      () => fill.run(half, 50_000),
    );
    const perChar = (ratio * charsOf(half) * 2) / charsOf(whole);
    growth.push([String(results), `${perChar.toFixed(2)}x`, "≤ 2.2"]);
  }
  printTable("Growth as the history doubles, at 50,000 characters", growth);
}

function historyOf(toolResults: number): Transcript {
  return opencode.decode(generateSession({ messages: Math.ceil((toolResults * 4) / 3), toolResults }));
}

function charsOf(history: Transcript): number {
  return plainMessages(history).join("").length;
}

function readAll(history: Transcript): number {
  let sum = 0;
  for (const { parts } of history) {
    for (const part of parts) {
      const text = part.type === "text" ? part.text : part.type === "tool" ? outcomeText(part.outcome) : "";
      for (let index = 0; index < text.length; index++) sum += text.charCodeAt(index);
    }
  }
  return sum;
}
