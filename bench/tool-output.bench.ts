import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { createFileOutputStore } from "../src/stores/files/output-store.ts";
import { truncateToolContent } from "../src/tool-output/truncate-tool-content.ts";
import { printTable } from "./measure.ts";

const ROUNDS = 11;
const MEBIBYTE = 1_048_576;

const CASES: readonly OutputCase[] = [
  { name: "one line", bar: "≤ 1.5x, ≤ 300 MB", create: () => "a".repeat(100 * MEBIBYTE) },
  {
    name: "3.2 million lines",
    bar: "≤ 1.5x, ≤ 300 MB",
    create: () => "line of log text here 1234567890\n".repeat(3_200_000),
  },
  {
    name: "2.5 million lines, not ASCII",
    bar: "–",
    create: () => "zażółć gęślą jaźń ✓ log line\n".repeat(2_500_000),
  },
  {
    name: "2.5 million lines, coloured",
    bar: "–",
    create: () => "\x1b[32mok\x1b[0m log text here 1234567890\n".repeat(2_500_000),
  },
];

interface OutputCase {
  readonly name: string;
  readonly bar: string;
  readonly create: () => string;
}

/** Prints what trimming and saving a huge output costs beside writing and hashing the same bytes, in time and memory. */
export async function benchToolOutput(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-bench-"));
  const rows: string[][] = [
    ["output", "MB", "trim + save / write + hash", "by CPU time", "extra RSS", "kept after", "bar"],
  ];
  try {
    for (const { name, bar, create } of CASES) {
      const text = flat(create());
      const store = createFileOutputStore({ root: join(folder, "outputs"), cleaning: "never" });
      const trim = () => truncateToolContent([{ type: "text", text }], undefined, store);
      await collectGarbage();
      const heapBefore = process.memoryUsage().heapUsed;
      const { result, extraBytes } = await watchMemory(trim);
      await collectGarbage();
      const keptBytes = process.memoryUsage().heapUsed - heapBefore;

      const ratios: Cost[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const base = await costOf(() => writeAndHash(join(folder, "plain"), text));
        const own = await costOf(trim);
        ratios.push({ wallMs: own.wallMs / base.wallMs, cpuMs: own.cpuMs / base.cpuMs });
      }
      rows.push([
        name,
        (result.stats.bytes.total / 1e6).toFixed(0),
        `${median(ratios.map(({ wallMs }) => wallMs)).toFixed(2)}x`,
        `${median(ratios.map(({ cpuMs }) => cpuMs)).toFixed(2)}x`,
        `${(extraBytes / MEBIBYTE).toFixed(0)} MB`,
        `${Math.max(0, keptBytes / MEBIBYTE).toFixed(1)} MB`,
        bar,
      ]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  printTable("Trimming and saving a huge tool output against writing and hashing the same bytes", rows);
}

/** The minimum work of storing an output: hashing its bytes and writing them. */
function writeAndHash(path: string, text: string): string {
  const hash = createHash("sha256");
  const fd = openSync(path, "w", 0o600);
  for (let start = 0; start < text.length; start += MEBIBYTE) {
    const bytes = Buffer.from(text.slice(start, start + MEBIBYTE));
    hash.update(bytes);
    writeSync(fd, bytes);
  }
  fsyncSync(fd);
  closeSync(fd);
  return hash.digest("hex");
}

/** Flattens a string: repeated strings are ropes until they are searched, but tools give flat strings. */
function flat(text: string): string {
  return text.includes("\0") ? "" : text;
}

interface Cost {
  readonly wallMs: number;
  /** CPU time: not distorted by load, and without waiting for the disk. */
  readonly cpuMs: number;
}

async function costOf(run: () => unknown): Promise<Cost> {
  const startMs = performance.now();
  const startCpu = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(startCpu);
  return { wallMs: performance.now() - startMs, cpuMs: (user + system) / 1_000 };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Collects garbage and waits until the memory is returned to the system. */
async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    (globalThis as { gc?: () => void }).gc?.();
    await setTimeout(200);
  }
}

/** The highest memory of the process during a run, over that before it; from a thread of its own, since the run does not pause. */
async function watchMemory<Result>(
  run: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly extraBytes: number }> {
  const peak = new BigInt64Array(new SharedArrayBuffer(8));
  const watcher = new Worker(
    `const { workerData: peak } = require("node:worker_threads");
     setInterval(() => {
       const bytes = BigInt(process.memoryUsage.rss());
       if (bytes > Atomics.load(peak, 0)) Atomics.store(peak, 0, bytes);
     }, 2);`,
    { eval: true, workerData: peak },
  );
  await new Promise((resolve) => watcher.once("online", resolve));
  await setTimeout(100);
  const beforeBytes = process.memoryUsage.rss();
  Atomics.store(peak, 0, BigInt(beforeBytes));
  const result = await run();
  await watcher.terminate();
  return { result, extraBytes: Number(Atomics.load(peak, 0)) - beforeBytes };
}
