import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sealLine } from "../src/stores/files/sealed-line.ts";
import { printTable } from "./measure.ts";

const NODE = new URL("../../../dist/node.js", import.meta.url);
const ROUNDS = 3;
const MANY = 100_000;

/**
 * Measures the first append to a long log in a new process, and whether a log of more than 2 GiB can be continued and
 * read. Writes its own logs to a temporary folder. Needs `npm run build`.
 */
export async function benchJournal(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-journal-"));
  try {
    const rows: string[][] = [["log", "first append ms", "bar", "MB more", "bar", "loop blocked ms", "bar"]];
    const long: string[][] = [["log", "appended", "entries", "of", "problems", "read s", "loop blocked ms"]];
    for (const { name, megabytes, fileMegabytes } of LOGS) {
      const root = join(folder, name);
      const written = writeLog(root, { megabytes, fileMegabytes });
      const first = leastOf(() => inProgram<Appended>(APPEND, root));
      rows.push([
        name,
        first.ms.toFixed(1),
        "≤ 50",
        first.megabytes.toFixed(1),
        "≤ 50",
        first.blockedMs.toFixed(1),
        "≤ 20",
      ]);
      const read = inProgram<ReadBack>(READ, root);
      long.push([
        name,
        read.status,
        read.entries.toLocaleString("en"),
        (written + ROUNDS + 1).toLocaleString("en"),
        `${read.problems}`,
        (read.ms / 1_000).toFixed(1),
        read.blockedMs.toFixed(1),
      ]);
      rmSync(root, { recursive: true });
    }
    printTable("The first append of a program to a long log, the least of three programs", rows);
    printTable("The whole of it, gone on with and then read", long);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const LOGS = [
  { name: "1 MB", megabytes: 1, fileMegabytes: 64 },
  { name: "1 GB in files of 64 MB", megabytes: 1_024, fileMegabytes: 64 },
  { name: "1 GB in one file", megabytes: 1_024, fileMegabytes: 1_100 },
  { name: "2.1 GB in one file", megabytes: 2_150, fileMegabytes: 2_200 },
] as const;

/** Measures creating a record and cleaning among 100,000 records. Needs `npm run build`. */
export async function benchRecords(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "carryover-records-"));
  try {
    const [few, many] = [join(folder, "few"), join(folder, "many")];
    mkdirSync(few, { mode: 0o700 });
    writeRecords(many);
    const { first, same, other } = inProgram<Created>(CREATE, few, many);
    printTable("Making a record, beside one of the first in a folder, in the same program, at the median", [
      ["records there", "by", "/ the first", "bar"],
      [MANY.toLocaleString("en"), "a program that runs", `${(same / first).toFixed(2)}x`, "≤ 3"],
      [MANY.toLocaleString("en"), "one that opens the store anew", `${(other / first).toFixed(2)}x`, "≤ 3"],
    ]);
    const outputs = join(folder, "outputs");
    writeOutputs(outputs);
    // Flush, so that the outputs are on disk and not about to be written.
    spawnSync("sync");
    const cleaned = inProgram<Cleaned>(CLEAN, outputs);
    printTable("Removing outputs that nobody has used for 8 days, with default limits", [
      ["removed", "s", "bar", "CPU s", "loop blocked ms", "bar"],
      [
        cleaned.removed.toLocaleString("en"),
        (cleaned.ms / 1_000).toFixed(1),
        "≤ 10",
        (cleaned.cpuMs / 1_000).toFixed(1),
        cleaned.blockedMs.toFixed(1),
        "≤ 20",
      ],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Writes a log as the store does, or as it did before files had an end; gives the number of entries. */
function writeLog(root: string, { megabytes, fileMegabytes }: LogSize): number {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const text = "An entry of a log, some words long. ".repeat(280);
  const totalBytes = megabytes * 1_048_576;
  let sequence = 0;
  for (let written = 0, file = 1; written < totalBytes; file += 1) {
    const fd = openSync(join(root, `long.1-1700000000000-${file}.jsonl`), "wx", 0o600);
    for (let bytes = 0; written < totalBytes && bytes < fileMegabytes * 1_048_576 - 100_000; ) {
      const lines: Uint8Array[] = [];
      for (let line = 0; line < 8; line += 1) {
        sequence += 1;
        lines.push(
          sealLine([
            ["n", `${sequence}`],
            ["e", JSON.stringify({ sequence, text })],
          ]),
        );
      }
      const count = writeSync(fd, Buffer.concat(lines));
      bytes += count;
      written += count;
    }
    closeSync(fd);
  }
  return sequence;
}

interface LogSize {
  readonly megabytes: number;
  readonly fileMegabytes: number;
}

function writeRecords(root: string): void {
  mkdirSync(root, { mode: 0o700 });
  for (let index = 0; index < MANY; index += 1) {
    const line = sealLine([
      ["id", `"fork-${index}"`],
      ["version", "1700000000000"],
      ["value", '{"some":"value"}'],
    ]);
    for (const end of [".json", ".json.bak"])
      writeFileSync(join(root, `fork-${index}${end}`), line, { mode: 0o600 });
  }
}

function writeOutputs(root: string): void {
  const usedS = Date.now() / 1_000 - 8 * 86_400;
  for (let index = 0; index < MANY; index += 1) {
    const text = `output ${index}`;
    const sha256 = createHash("sha256").update(text).digest("hex");
    const shard = join(root, sha256.slice(0, 2));
    mkdirSync(shard, { recursive: true, mode: 0o700 });
    writeFileSync(join(shard, sha256), text, { mode: 0o600 });
    utimesSync(join(shard, sha256), usedS, usedS);
  }
}

/** Runs a script in its own process, with the built package as `stores`, and gives its output as JSON. */
function inProgram<Result>(script: string, ...args: readonly string[]): Result {
  const source = `import * as stores from ${JSON.stringify(NODE.href)};\n${LONGEST_BLOCK}\n${script}`;
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", source, "--", ...args], {
    encoding: "utf8",
    cwd: fileURLToPath(new URL(".", NODE)),
  });
  if (run.status !== 0) throw new Error(`the program failed: ${run.stderr.slice(-1_000)}`);
  return JSON.parse(run.stdout) as Result;
}

/** The minimum of three runs: other programs on the machine only add time. */
function leastOf(run: () => Appended): Appended {
  const runs = Array.from({ length: ROUNDS }, run);
  const least = (figure: keyof Appended): number => Math.min(...runs.map((each) => each[figure]));
  return { ms: least("ms"), megabytes: least("megabytes"), blockedMs: least("blockedMs") };
}

/** The longest pause of the event loop during a task, in CPU time of this process. */
const LONGEST_BLOCK = `
async function longestBlock(work) {
  let longest = 0, isDone = false, last = performance.now(), lastUsed = process.cpuUsage();
  const turn = () => {
    const used = process.cpuUsage(lastUsed);
    const now = performance.now();
    longest = Math.max(longest, Math.min(now - last, (used.user + used.system) / 1000));
    last = now;
    lastUsed = process.cpuUsage();
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await new Promise((resolve) => setTimeout(resolve, 50));
  longest = 0;
  const startedMs = performance.now();
  const started = process.cpuUsage();
  const result = await work();
  const ms = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(started);
  await new Promise((resolve) => setImmediate(resolve));
  isDone = true;
  return { result, ms, blockedMs: longest, cpuMs: (user + system) / 1000 };
}`;

interface Appended {
  readonly ms: number;
  readonly megabytes: number;
  readonly blockedMs: number;
}

/** Another log is started first, so that the code is compiled. */
const APPEND = `
const [root] = process.argv.slice(1);
await stores.createFileJournal({ root: root + "-warm", session: "long" }).append({ some: "entry" });
const before = process.memoryUsage.rss();
const { ms, blockedMs } = await longestBlock(() => stores.createFileJournal({ root, session: "long" }).append({ some: "entry" }));
console.log(JSON.stringify({ ms, blockedMs, megabytes: Math.max(0, process.resourceUsage().maxRSS / 1024 - before / 1048576) }));`;

interface ReadBack {
  readonly status: string;
  readonly entries: number;
  readonly problems: number;
  readonly ms: number;
  readonly blockedMs: number;
}

const READ = `
const [root] = process.argv.slice(1);
const journal = stores.createFileJournal({ root, session: "long" });
const { status } = await journal.append({ some: "entry" });
const { result, ms, blockedMs } = await longestBlock(() => journal.read());
console.log(JSON.stringify({ status, entries: result.entries.length, problems: result.problems.length, ms, blockedMs }));`;

interface Created {
  readonly first: number;
  readonly same: number;
  readonly other: number;
}

/** Alternating, so that a busy disk slows both. */
const CREATE = `
const [few, many] = process.argv.slice(1);
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const create = async (store, id) => {
  const startedMs = performance.now();
  const outcome = await store.put({ id, value: { some: "value" }, expected: "missing" });
  if (outcome.status !== "stored") throw new Error(JSON.stringify(outcome));
  return performance.now() - startedMs;
};
const firsts = [], sames = [], others = [];
const small = stores.createFileRecordStore({ root: few });
const running = stores.createFileRecordStore({ root: many });
await create(small, "warm");
await create(running, "warm");
for (let turn = 0; turn < 40; turn += 1) {
  firsts.push(await create(small, "first-" + turn));
  sames.push(await create(running, "same-" + turn));
  others.push(await create(stores.createFileRecordStore({ root: many }), "other-" + turn));
}
console.log(JSON.stringify({ first: median(firsts), same: median(sames), other: median(others) }));`;

interface Cleaned {
  readonly removed: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly blockedMs: number;
}

const CLEAN = `
const [root] = process.argv.slice(1);
const { result, ...figures } = await longestBlock(() => stores.cleanOutputs({ root }));
if (result.status !== "cleaned") throw new Error(JSON.stringify(result));
console.log(JSON.stringify({ removed: result.removedFiles, ...figures }));`;
