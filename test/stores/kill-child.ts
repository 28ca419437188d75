import { writeSync } from "node:fs";
import { join } from "node:path";
import { cleanOutputs } from "../../src/stores/files/clean-outputs.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { fillerOf, type KillAck, type KillKind, RECORD_IDS } from "./kill-protocol.ts";

// Writes without end and says what it has committed, until it is killed.
const [kind, sizeText, root = "", label = ""] = process.argv.slice(2);
const sizeBytes = Number(sizeText);
const loops: Readonly<Record<KillKind, () => Promise<void>>> = {
  record: writeRecords,
  journal: appendEntries,
  output: putOutputs,
  clean: putAndClean,
};
await loops[kind as KillKind]();

function acknowledge(ack: KillAck): void {
  writeSync(1, `${JSON.stringify(ack)}\n`);
}

function failed(outcome: unknown): never {
  writeSync(1, `${JSON.stringify({ failed: outcome })}\n`);
  process.exit(1);
}

async function writeRecords(): Promise<void> {
  const store = createFileRecordStore({ root });
  for (let step = 0; ; step += 1) {
    const id = RECORD_IDS[step % RECORD_IDS.length] ?? "";
    const read = await store.get(id);
    if (read.status !== "found" && read.status !== "missing") failed(read);
    const count = read.status === "found" ? (read.value as { count: number }).count + 1 : 1;
    const value = { count, filler: fillerOf(`${id}${count}`, sizeBytes) };
    const expected = read.status === "found" ? read.version : "missing";
    const outcome = await store.put({ id, value, expected });
    if (outcome.status !== "stored") failed(outcome);
    acknowledge({ id, count });
  }
}

async function appendEntries(): Promise<void> {
  const journal = createFileJournal({ root, session: "killed" });
  for (let count = 1; ; count += 1) {
    const id = `${label}-${count}`;
    const outcome = await journal.append({ id, count, filler: fillerOf(id, sizeBytes) });
    if (outcome.status !== "appended") failed(outcome);
    acknowledge({ id, count });
  }
}

async function putOutputs(): Promise<void> {
  const store = createFileOutputStore({ root, cleaning: "never" });
  for (let count = 1; ; count += 1) {
    const id = `${label}-${count}`;
    const outcome = await store.put(fillerOf(id, sizeBytes));
    if (outcome.status !== "stored") failed(outcome);
    acknowledge({ id, count, handle: outcome.handle });
  }
}

async function putAndClean(): Promise<void> {
  const store = createFileOutputStore({ root, cleaning: "never", durable: false });
  const live = new Set<string>();
  for (let count = 1; ; count += 1) {
    const id = `${label}-${count}`;
    const isLive = count % 4 === 1 && live.size < 3;
    const outcome = await store.put(fillerOf(id, sizeBytes));
    if (outcome.status !== "stored") failed(outcome);
    if (isLive) {
      live.add(outcome.handle);
      acknowledge({ id, count, handle: outcome.handle });
    }
    const allLive = async () => new Set([...live, ...(await earlierHandles())]);
    const report = await cleanOutputs({ root, maxFiles: 2, minAgeMs: 0, live: allLive });
    if (report.status !== "cleaned" || report.problems.length > 0) failed(report);
  }
}

async function earlierHandles(): Promise<readonly string[]> {
  const records = createFileRecordStore({ root: join(root, "live"), durable: false });
  const read = await records.get("handles");
  return read.status === "found" ? (read.value as string[]) : [];
}
