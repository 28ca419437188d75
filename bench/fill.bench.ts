import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { readEvalSession } from "../src/cli/eval/run-eval.ts";
import { findTranscriptFiles } from "../src/cli/files/find-files.ts";
import { EVAL_DEFAULTS, measureSpeed } from "../src/eval/measure-session.ts";
import { probesOf } from "../src/eval/measures/measure-recall.ts";
import { fill } from "../src/eval/measures/policies.ts";
import { plainMessages } from "../src/eval/probe/history-text.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { outcomeText } from "../src/transcript/content.ts";
import type { Transcript } from "../src/transcript/message.ts";
import { generateSession } from "./generate-session.ts";
import { printTable, ratioOf } from "./measure.ts";

const BUDGETS_CHARS = [25_000, 50_000, 100_000, 200_000];

/**
 * Prints what filling a budget costs beside writing the whole history once: for the recorded sessions of `../shared`,
 * for which the bar is, where they are there; and for generated ones, also beside reading each character once, and how
 * that grows.
 */
export async function benchFill(): Promise<void> {
  if (RECORDED.every((folder) => existsSync(folder))) {
    // In one thread, so that CPU time is the time of the work alone.
    if (process.execArgv.includes(ONE_THREAD)) return benchRecorded();
    const args = [ONE_THREAD, ...process.execArgv, process.argv[1] ?? "", "fill"];
    spawnSync(process.execPath, args, { stdio: "inherit" });
  } else console.log("\nThe recorded sessions of ../shared are not there: only generated ones are measured.");
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

const RECORDED = ["../shared/eval/corpus", "../shared/eval/corpus2"];
const ONE_THREAD = "--single-threaded";

/** The longest history of each recorded session, in CPU time relative to writing it; best of five after a warm-up. */
async function benchRecorded(): Promise<void> {
  const rows: string[][] = [["sessions", "budget", "median", "p95", "most", "bar of p95"]];
  for (const folder of RECORDED) {
    const histories: Transcript[] = [];
    for (const name of await findTranscriptFiles([folder])) {
      const read = await readEvalSession(await readFile(name), { name, branches: "file" });
      const probes = read.status === "read" ? probesOf(read.session, EVAL_DEFAULTS) : [];
      const longest = probes.toSorted((one, other) => other.historyChars - one.historyChars)[0];
      if (longest !== undefined) histories.push(longest.history);
    }
    for (const budgetChars of BUDGETS_CHARS) {
      const options = { policies: [fill], budgetsChars: [budgetChars], now: processorMs, rounds: 6 };
      const times = histories
        .flatMap((history) => measureSpeed(history, options).map(({ timesPlain }) => timesPlain))
        .sort((one, other) => one - other);
      const at = (share: number): string =>
        `${(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN).toFixed(1)}x`;
      const sessions = `${times.length} of ${folder.slice("../shared/eval/".length)}`;
      rows.push([sessions, budgetChars.toLocaleString("en-US"), at(0.5), at(0.95), at(1), "≤ 12"]);
    }
  }
  printTable("Filling a budget from recorded sessions, as a multiple of plain writing", rows);
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
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
