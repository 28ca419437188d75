import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { OUTPUT_CAP_BYTES, type SoakSample } from "./soak-protocol.ts";

/** Lets processes live sessions in one folder for a while, and gives what each said of itself. */
export async function runSoak({ childPath, spanMs, processes = 2 }: SoakRun): Promise<readonly SoakRow[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "carryover-soak-")));
  try {
    await fillBeyondCap(join(root, "outputs"));
    const labels = Array.from({ length: processes }, (_, index) => String.fromCharCode(97 + index));
    const runs = labels.map((label) => runChild({ childPath, root, label, spanMs }));
    return (await Promise.all(runs)).map(rowOf);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** What was saved an hour ago is more than the cap, so that even a short run must clean. */
async function fillBeyondCap(root: string): Promise<void> {
  const outputs = createFileOutputStore({ root, durable: false, cleaning: "never" });
  const atS = Date.now() / 1000 - 3_600;
  for (let bytes = 0; bytes <= OUTPUT_CAP_BYTES; ) {
    const stored = await outputs.put(`${bytes} `.padEnd(100_000, "old output "));
    if (stored.status === "failed") throw new Error(stored.reason);
    if (stored.path !== undefined) utimesSync(stored.path, atS, atS);
    bytes += stored.bytes;
  }
}

export interface SoakRun {
  readonly childPath: string;
  readonly spanMs: number;
  readonly processes?: number;
}

/** What came out for one process. Drifts are of the last part against the part after the warm-up, in percent. */
export interface SoakRow {
  readonly label: string;
  readonly counts: SoakSample["counts"] | undefined;
  readonly heapMiB: readonly [number, number];
  readonly heapDrift: number;
  readonly residentMiB: readonly [number, number];
  readonly residentDrift: number;
  readonly descriptorDrift: number;
  readonly maxOutputBytes: number;
  readonly faults: readonly string[];
}

/** Which figures a row does not hold; short runs say nothing about memory. */
export function brokenFigures(row: SoakRow, memory: "judged" | "not-judged"): readonly string[] {
  const isDrifting = (percent: number): boolean => memory === "judged" && percent > MAX_DRIFT_PERCENT;
  return [
    ...(row.counts === undefined ? ["no session came to its end"] : []),
    ...(isDrifting(row.heapDrift) ? [`heap drifts by ${row.heapDrift.toFixed(1)} %`] : []),
    ...(isDrifting(row.residentDrift) ? [`memory drifts by ${row.residentDrift.toFixed(1)} %`] : []),
    ...(row.descriptorDrift > 0 ? [`${row.descriptorDrift} more file descriptors`] : []),
    ...(row.maxOutputBytes > OUTPUT_CAP_BYTES ? [`${row.maxOutputBytes} bytes of saved outputs`] : []),
    ...row.faults,
  ];
}

const MAX_DRIFT_PERCENT = 10;
/** The part of the samples in which caches fill and code is compiled. */
const WARM_UP_SHARE = 0.25;
/** The part of the rest that each end is judged by. */
const END_SHARE = 0.25;

function rowOf({ label, samples, complaint }: ChildRun): SoakRow {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP_SHARE));
  const count = Math.max(1, Math.floor(warm.length * END_SHARE));
  const ends = (read: (sample: SoakSample) => number): readonly [number, number] => [
    median(warm.slice(0, count).map(read)),
    median(warm.slice(-count).map(read)),
  ];
  const heap = ends(({ heapBytes }) => heapBytes);
  const resident = ends(({ residentBytes }) => residentBytes);
  const descriptors = ends((sample) => sample.descriptors);
  return {
    label,
    counts: samples.at(-1)?.counts,
    heapMiB: [heap[0] / MIB, heap[1] / MIB],
    heapDrift: drift(heap),
    residentMiB: [resident[0] / MIB, resident[1] / MIB],
    residentDrift: drift(resident),
    descriptorDrift: descriptors[1] - descriptors[0],
    maxOutputBytes: Math.max(0, ...samples.map(({ outputBytes }) => outputBytes)),
    faults: [...samples.flatMap(({ faults }) => faults), ...(complaint === "" ? [] : [complaint])],
  };
}

const MIB = 2 ** 20;

function drift([first, last]: readonly [number, number]): number {
  return first === 0 ? 0 : (100 * (last - first)) / first;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

interface ChildRun {
  readonly label: string;
  readonly samples: readonly SoakSample[];
  /** Empty when it ended well. */
  readonly complaint: string;
}

function runChild({ childPath, root, label, spanMs }: ChildStart): Promise<ChildRun> {
  const child = spawn(process.execPath, ["--expose-gc", childPath, root, label, String(spanMs)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (code) => {
      const samples = output.split("\n").filter(Boolean);
      resolve({
        label,
        samples: samples.map((line) => JSON.parse(line) as SoakSample),
        complaint: code === 0 ? "" : `process ${label} ended with ${code}: ${errors.slice(-2_000)}`,
      });
    });
  });
}

interface ChildStart {
  readonly childPath: string;
  readonly root: string;
  readonly label: string;
  readonly spanMs: number;
}
