import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PostgresStores } from "../../src/stores/postgres/postgres-stores.ts";
import { fillerOf, RECORD_IDS } from "./kill-protocol.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const ROUNDS = process.env.CARRYOVER_LONG === undefined ? 24 : 200;
const SIZES_BYTES = [1_000, 20_000, 2_000_000];

describe.skipIf(postgres === undefined)("a server that is killed while it is written to", () => {
  it(`has everything that was acknowledged, in ${ROUNDS} rounds`, { timeout: ROUNDS * 30_000 }, async () => {
    if (postgres === undefined) return;
    const { server } = postgres;
    const schema = postgres.newSchema();
    const acknowledged: Acknowledged = {
      records: new Map(),
      entries: [],
      handles: new Map(),
      writes: 0,
      failures: 0,
    };
    const lost: string[] = [];
    const stop = new AbortController();
    const open = (): PostgresStores => postgres.open(schema, { retryMs: 20_000, maxConnections: 4 });
    const writing = Promise.all([
      writeRecords(open(), acknowledged, stop.signal),
      appendEntries(open(), acknowledged, stop.signal),
      putOutputs(open(), acknowledged, stop.signal),
    ]);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const before = acknowledged.writes;
      await waitUntil(() => acknowledged.writes > before);
      await sleep(Math.random() * 300);
      await server.kill();
      const safe = snapshotOf(acknowledged);
      await sleep(Math.random() * 100);
      await server.restart();
      lost.push(...(await lostOf(open(), safe)).map((what) => `round ${round}: ${what}`));
    }
    stop.abort();
    await writing;
    lost.push(...(await lostOf(open(), acknowledged)));
    console.log(
      `postgres: ${ROUNDS} kills of the server in mid-write, ${acknowledged.writes} writes acknowledged (${acknowledged.entries.length} entries, ${acknowledged.handles.size} outputs), ${lost.length} lost, ${acknowledged.failures} told as failed`,
    );
    expect(lost).toEqual([]);
    expect(acknowledged.writes).toBeGreaterThan(ROUNDS);
  });
});

interface Acknowledged {
  /** The last count of each record. */
  readonly records: Map<string, number>;
  readonly entries: string[];
  /** The seed of each output. */
  readonly handles: Map<string, Output>;
  writes: number;
  failures: number;
}

interface Output {
  readonly seed: string;
  readonly sizeBytes: number;
}

function snapshotOf({ records, entries, handles, ...counts }: Acknowledged): Acknowledged {
  return { ...counts, records: new Map(records), entries: [...entries], handles: new Map(handles) };
}

async function writeRecords(
  { records }: PostgresStores,
  acknowledged: Acknowledged,
  stop: AbortSignal,
): Promise<void> {
  const store = records("killed");
  for (let step = 0; !stop.aborted; step += 1) {
    const id = RECORD_IDS[step % RECORD_IDS.length] ?? "";
    const sizeBytes = SIZES_BYTES[step % SIZES_BYTES.length] ?? 0;
    const read = await store.get(id);
    if (read.status === "failed") {
      acknowledged.failures += 1;
      continue;
    }
    const count = read.status === "found" ? (read.value as { count: number }).count + 1 : 1;
    const value = { count, filler: fillerOf(`${id}${count}`, sizeBytes) };
    const outcome = await store.put({
      id,
      value,
      expected: read.status === "found" ? read.version : "missing",
    });
    if (outcome.status === "stored") {
      acknowledged.records.set(id, count);
      acknowledged.writes += 1;
    } else acknowledged.failures += 1;
  }
}

async function appendEntries(
  { journal }: PostgresStores,
  acknowledged: Acknowledged,
  stop: AbortSignal,
): Promise<void> {
  const log = journal("killed");
  const appendOne = async (number: number): Promise<void> => {
    const id = `entry-${number}`;
    const filler = fillerOf(id, number % 50 === 0 ? 2_000_000 : 1_000);
    const outcome = await log.append({ id, filler });
    if (outcome.status === "appended") {
      acknowledged.entries.push(id);
      acknowledged.writes += 1;
    } else acknowledged.failures += 1;
  };
  for (let number = 0; !stop.aborted; number += 4) {
    await Promise.all([0, 1, 2, 3].map((offset) => appendOne(number + offset)));
    await sleep(10);
  }
}

async function putOutputs(
  { session }: PostgresStores,
  acknowledged: Acknowledged,
  stop: AbortSignal,
): Promise<void> {
  const { spills } = session("killed");
  for (let number = 0; !stop.aborted; number += 1) {
    const sizeBytes = SIZES_BYTES[number % SIZES_BYTES.length] ?? 0;
    const seed = `output ${number}`;
    const outcome = await spills.put(fillerOf(seed, sizeBytes));
    if (outcome.status === "stored") {
      acknowledged.handles.set(outcome.handle, { seed, sizeBytes });
      acknowledged.writes += 1;
    } else acknowledged.failures += 1;
    await sleep(10);
  }
}

/** What was acknowledged and is not there, or is there twice, or comes back changed. */
async function lostOf(stores: PostgresStores, acknowledged: Acknowledged): Promise<readonly string[]> {
  const lost: string[] = [];
  const records = stores.records("killed");
  for (const [id, count] of acknowledged.records) {
    const read = await records.get(id);
    const value = read.status === "found" ? (read.value as { count: number; filler: string }) : undefined;
    if (value === undefined || value.count < count)
      lost.push(`record ${id}: ${count} → ${value?.count ?? read.status}`);
    else if (!value.filler.startsWith(`${id}${value.count} `)) lost.push(`record ${id} is mixed`);
  }
  const { entries, problems } = await stores.journal("killed").read();
  const found = entries.map(({ value }) => (value as { id: string }).id);
  const ids = new Set(found);
  if (ids.size !== found.length) lost.push(`${found.length - ids.size} entries stand there twice`);
  lost.push(...problems.map((problem) => JSON.stringify(problem)));
  lost.push(...acknowledged.entries.filter((id) => !ids.has(id)));
  for (const [handle, { seed, sizeBytes }] of acknowledged.handles)
    if ((await stores.spills.get(handle)) !== fillerOf(seed, sizeBytes)) lost.push(seed);
  await stores.close();
  return lost;
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}
