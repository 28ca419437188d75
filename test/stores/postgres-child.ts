import { setTimeout as sleep } from "node:timers/promises";
import type { RecordStore } from "../../src/fork/life/record-store.ts";
import { openPostgresStores, type PostgresStores } from "../../src/stores/postgres/stores.ts";

// One of several programs on the same database; prints what it has to report as one line of JSON.
const [task = "", connectionString = "", schema = "", countText] = process.argv.slice(2);
const count = Number(countText);
const LEASE_MS = 60;
const stores = openPostgresStores({ connectionString, schema, maxConnections: 2, cleaning: "never" });
const tasks: Readonly<Record<string, (stores: PostgresStores) => Promise<unknown>>> = { open, update, lease };
process.stdout.write(JSON.stringify(await tasks[task]?.(stores)));
await stores.close();

/** Only starts, so that the schema is made. */
async function open({ open: start, records }: PostgresStores): Promise<unknown> {
  const opened = await start();
  return {
    opened,
    stored: await records("starts").put({ id: String(process.pid), value: 1, expected: "missing" }),
  };
}

/** Adds 1 to the same record `count` times. */
async function update({ records }: PostgresStores): Promise<unknown> {
  const store = records("counters");
  let conflicts = 0;
  for (let done = 0; done < count; ) {
    const { value, version } = await found(store, "shared");
    const outcome = await store.put({ id: "shared", value: (value as number) + 1, expected: version });
    if (outcome.status === "stored") done += 1;
    else if (outcome.status === "conflict") conflicts += 1;
    else throw new Error(JSON.stringify(outcome));
  }
  return { conflicts };
}

/** Fights for one lease until it held it `count` times, and now and then sleeps through its end before it writes. */
async function lease({ records, now }: PostgresStores): Promise<unknown> {
  const store = records("leases");
  const held: HeldLease[] = [];
  const accepted: AcceptedWrite[] = [];
  let refused = 0;
  while (held.length < count) {
    const fence = await acquire(store, now);
    if (fence === undefined) {
      await sleep(Math.random() * LEASE_MS);
      continue;
    }
    held.push({ fence, pid: process.pid });
    const isLate = held.length % 3 === 0;
    if (isLate) await sleep(2 * LEASE_MS);
    for (let step = 0; step < 3; step += 1) {
      const version = await writeFenced(store, fence);
      if (version === undefined) refused += 1;
      else accepted.push({ version, fence, pid: process.pid });
    }
  }
  return { held, accepted, refused } satisfies LeaseReport;
}

export interface LeaseReport {
  readonly held: readonly HeldLease[];
  readonly accepted: readonly AcceptedWrite[];
  /** Writes by somebody whose lease had gone to another. */
  readonly refused: number;
}

interface HeldLease {
  readonly fence: number;
  readonly pid: number;
}

interface AcceptedWrite extends HeldLease {
  /** The order in which writes counted. */
  readonly version: number;
}

/** The version of the lease is the fence. */
async function acquire(store: RecordStore, now: () => number): Promise<number | undefined> {
  const present = await store.get("lease");
  if (present.status !== "found" && present.status !== "missing") throw new Error(JSON.stringify(present));
  const isFree = present.status === "missing" || (present.value as { untilMs: number }).untilMs < now();
  if (!isFree) return undefined;
  const value = { pid: process.pid, untilMs: now() + LEASE_MS };
  const expected = present.status === "found" ? present.version : "missing";
  const taken = await store.put({ id: "lease", value, expected });
  return taken.status === "stored" ? taken.version : undefined;
}

/** Writes what the lease guards, unless somebody with a newer lease has. */
async function writeFenced(store: RecordStore, fence: number): Promise<number | undefined> {
  for (;;) {
    const { value, version } = await found(store, "guarded");
    if ((value as { fence: number }).fence > fence) return undefined;
    const outcome = await store.put({ id: "guarded", value: { fence, pid: process.pid }, expected: version });
    if (outcome.status === "stored") return outcome.version;
    if (outcome.status === "failed") throw new Error(JSON.stringify(outcome));
  }
}

async function found(store: RecordStore, id: string): Promise<{ value: unknown; version: number }> {
  const read = await store.get(id);
  if (read.status !== "found") throw new Error(JSON.stringify(read));
  return read;
}
