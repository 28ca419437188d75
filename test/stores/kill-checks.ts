import { readdirSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { cleanOutputs } from "../../src/stores/files/clean-outputs.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { fillerOf, type KillAck, type KillKind } from "./kill-protocol.ts";

/** What a look at a store after a kill has found. */
export interface KillFindings {
  /** Acknowledged, but not there or not as it was written. */
  readonly lost: readonly string[];
  /** Whatever else the store could not read or do. */
  readonly unreadable: readonly string[];
  /** Unfinished last lines, which are expected and were left out. */
  readonly tornTails: number;
}

/** Looks whether everything acknowledged is there, and whether the store can be written again. */
export const checkAfterKill: Readonly<Record<KillKind, (after: AfterKill) => Promise<KillFindings>>> = {
  record: checkRecords,
  journal: checkJournal,
  output: checkOutputs,
  clean: checkCleaning,
};

export interface AfterKill {
  readonly root: string;
  readonly sizeBytes: number;
  readonly acks: readonly KillAck[];
}

async function checkRecords({ root, sizeBytes, acks }: AfterKill): Promise<KillFindings> {
  const lost: string[] = [];
  const unreadable: string[] = [];
  const store = createFileRecordStore({ root, durable: false });
  const newest = new Map<string, number>();
  for (const { id, count } of acks) newest.set(id, Math.max(count, newest.get(id) ?? 0));
  for (const [id, count] of newest) {
    const read = await store.get(id);
    const value = read.status === "found" && !read.recovered ? (read.value as RecordValue) : undefined;
    const isWhole = value?.filler === fillerOf(`${id}${value?.count}`, sizeBytes);
    if (!value || value.count < count || !isWhole) lost.push(`${id} ${count}`);
    if (!value || read.status !== "found") continue;
    const outcome = await store.put({ id, value, expected: read.version });
    if (outcome.status !== "stored") unreadable.push(JSON.stringify(outcome));
  }
  const list = await store.list();
  if (list.status !== "listed" || list.problems.length > 0) unreadable.push(JSON.stringify(list));
  return { lost, unreadable, tornTails: 0 };
}

interface RecordValue {
  readonly count: number;
  readonly filler: string;
}

async function checkJournal({ root, sizeBytes, acks }: AfterKill): Promise<KillFindings> {
  const journal = createFileJournal({ root, session: "killed", durable: false });
  const { entries, problems } = await journal.read();
  const written = new Map<string, string>();
  for (const { value } of entries) {
    const { id, filler } = value as { readonly id: string; readonly filler: string };
    if (id !== "check") written.set(id, filler);
  }
  const lost = acks.map((ack) => ack.id).filter((id) => written.get(id) !== fillerOf(id, sizeBytes));
  const torn = problems.filter((problem) => problem.type === "torn-tail");
  const unreadable = problems
    .filter((problem) => problem.type !== "torn-tail")
    .map((problem) => problem.reason);
  const outcome = await journal.append({ id: "check", filler: "" });
  if (outcome.status !== "appended") unreadable.push(outcome.reason);
  const last = (await journal.read()).entries.at(-1)?.value as { readonly id: string } | undefined;
  if (last?.id !== "check") unreadable.push("the entry written after the kill is not the last");
  return { lost, unreadable, tornTails: torn.length };
}

async function checkOutputs({ root, sizeBytes, acks }: AfterKill): Promise<KillFindings> {
  const store = createFileOutputStore({ root, durable: false, cleaning: "never" });
  const lost: string[] = [];
  const unreadable: string[] = [];
  for (const { id, handle = "" } of acks) {
    if ((await store.get(handle)) !== fillerOf(id, sizeBytes)) lost.push(id);
  }
  const outcome = await store.put("after the kill");
  if (outcome.status !== "stored") unreadable.push(outcome.reason);
  return { lost, unreadable, tornTails: 0 };
}

async function checkCleaning(after: AfterKill): Promise<KillFindings> {
  const before = await checkOutputs(after);
  const live = new Set(after.acks.flatMap((ack) => ack.handle ?? []));
  const report = await cleanOutputs({ root: after.root, maxFiles: live.size, minAgeMs: 0, live: () => live });
  const cleaned = await checkOutputs(after);
  const unreadable = [...before.unreadable, ...cleaned.unreadable];
  if (report.status !== "cleaned" || report.problems.length > 0) unreadable.push(JSON.stringify(report));
  const doomed = filesBelow(after.root).filter((path) => path.endsWith(".doomed"));
  return { lost: [...before.lost, ...cleaned.lost], unreadable: [...unreadable, ...doomed], tornTails: 0 };
}

/** The unfinished files below a folder. */
export function temporariesBelow(root: string): readonly string[] {
  return filesBelow(root).filter((path) => path.endsWith(".tmp"));
}

/** Makes the unfinished files look two hours old, so that the next start removes them. */
export function ageTemporaries(root: string): void {
  const timeS = Date.now() / 1000 - 7_200;
  for (const path of temporariesBelow(root)) utimesSync(path, timeS, timeS);
}

function filesBelow(root: string): readonly string[] {
  return readdirSync(root).flatMap((name) => {
    const path = join(root, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}
