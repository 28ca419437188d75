import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PostgresStores } from "../../src/stores/postgres/stores.ts";
import { fillerOf, RECORD_IDS } from "./kill-protocol.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const ROUNDS = process.env.CARRYOVER_LONG === undefined ? 24 : 200;
const LARGE_BYTES = 2_000_000;
/** A few are large, most are small. */
const sizeOf = (step: number): number => (step % 20 === 7 ? LARGE_BYTES : step % 2 === 0 ? 1_000 : 20_000);

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
      failures: new Map(),
    };
    const lost: string[] = [];
    const stop = new AbortController();
    const open = (): PostgresStores =>
      postgres.open(schema, { timeoutMs: 60_000, retryMs: 20_000, maxConnections: 4 });
    const reader = open();
    const writing = Promise.all([
      writeRecords({ stores: open(), acknowledged, stop: stop.signal }),
      appendEntries({ stores: open(), acknowledged, stop: stop.signal }),
      putOutputs({ stores: open(), acknowledged, stop: stop.signal }),
    ]);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const before = acknowledged.writes;
      await waitUntil(() => acknowledged.writes > before);
      await sleep(Math.random() * 300);
      await server.kill();
      const safe = new Map(acknowledged.records);
      await sleep(Math.random() * 100);
      await server.restart();
      // A later write would hide that one of these is lost; of all others the end tells as well.
      lost.push(...(await lostRecords(reader, safe)).map((what) => `round ${round}: ${what}`));
    }
    stop.abort();
    await writing;
    lost.push(...(await lostRecords(reader, acknowledged.records)));
    lost.push(...(await lostOthers(reader, acknowledged)));
    console.log(
      `postgres: ${ROUNDS} kills of the server in mid-write, ${acknowledged.writes} writes acknowledged (${acknowledged.entries.length} entries, ${acknowledged.handles.size} outputs), ${lost.length} lost, told as failed: ${JSON.stringify([...acknowledged.failures])}`,
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
  /** How often each code was told. */
  readonly failures: Map<string, number>;
}

interface Writing {
  readonly stores: PostgresStores;
  readonly acknowledged: Acknowledged;
  readonly stop: AbortSignal;
}

interface Output {
  readonly seed: string;
  readonly sizeBytes: number;
}

async function writeRecords({ stores, acknowledged, stop }: Writing): Promise<void> {
  const store = stores.records("killed");
  for (let step = 0; !stop.aborted; step += 1) {
    const id = RECORD_IDS[step % RECORD_IDS.length] ?? "";
    const sizeBytes = sizeOf(step);
    const read = await store.get(id);
    if (read.status === "failed") {
      await fail(acknowledged, read);
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
    } else await fail(acknowledged, outcome);
  }
}

async function appendEntries({ stores, acknowledged, stop }: Writing): Promise<void> {
  const log = stores.journal("killed");
  const appendOne = async (number: number): Promise<void> => {
    const id = `entry-${number}`;
    const filler = fillerOf(id, number % 100 === 0 ? LARGE_BYTES : 1_000);
    const outcome = await log.append({ id, filler });
    if (outcome.status === "appended") {
      acknowledged.entries.push(id);
      acknowledged.writes += 1;
    } else await fail(acknowledged, outcome);
  };
  for (let number = 0; !stop.aborted; number += 4) {
    await Promise.all([0, 1, 2, 3].map((offset) => appendOne(number + offset)));
    await sleep(20);
  }
}

async function putOutputs({ stores, acknowledged, stop }: Writing): Promise<void> {
  const { outputs } = stores.session("killed");
  for (let number = 0; !stop.aborted; number += 1) {
    const sizeBytes = sizeOf(number);
    const seed = `output ${number}`;
    const outcome = await outputs.put(fillerOf(seed, sizeBytes));
    if (outcome.status === "stored") {
      acknowledged.handles.set(outcome.handle, { seed, sizeBytes });
      acknowledged.writes += 1;
    } else await fail(acknowledged, outcome);
    await sleep(20);
  }
}

async function fail({ failures }: Acknowledged, outcome: Failed): Promise<void> {
  const code = outcome.code ?? outcome.status;
  failures.set(code, (failures.get(code) ?? 0) + 1);
  await sleep(20);
}

interface Failed {
  readonly status: string;
  readonly code?: string;
}

/** The records that are older than what was acknowledged, or a mix of two writes. */
async function lostRecords(
  stores: PostgresStores,
  acknowledged: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const lost: string[] = [];
  const records = stores.records("killed");
  for (const [id, count] of acknowledged) {
    const read = await records.get(id);
    const value = read.status === "found" ? (read.value as { count: number; filler: string }) : undefined;
    if (value === undefined || value.count < count)
      lost.push(`record ${id}: ${count} → ${value?.count ?? read.status}`);
    else if (!value.filler.startsWith(`${id}${value.count} `)) lost.push(`record ${id} is mixed`);
  }
  return lost;
}

/** The entries and outputs that are not there, or stand there twice, or come back changed. */
async function lostOthers(stores: PostgresStores, acknowledged: Acknowledged): Promise<readonly string[]> {
  const lost: string[] = [];
  const { entries, problems } = await stores.journal("killed").read();
  const found = entries.map(({ value }) => (value as { id: string }).id);
  const ids = new Set(found);
  if (ids.size !== found.length) lost.push(`${found.length - ids.size} entries stand there twice`);
  lost.push(...problems.map((problem) => JSON.stringify(problem)));
  lost.push(...acknowledged.entries.filter((id) => !ids.has(id)));
  for (const [handle, { seed, sizeBytes }] of acknowledged.handles)
    if ((await stores.outputs.get(handle)) !== fillerOf(seed, sizeBytes)) lost.push(seed);
  return lost;
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}
