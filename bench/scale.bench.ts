import { randomBytes } from "node:crypto";
import pg from "pg";
import type { RecordStore } from "../src/fork/life/record-store.ts";
import { openPostgresStores, type PostgresStores } from "../src/stores/postgres/stores.ts";
import { type PostgresServer, startPostgres } from "../test/rig/postgres/start-postgres.ts";
import { printTable } from "./measure.ts";

const CONNECTIONS = 4;
const TURNS = 12;
const CALLS_PER_TURN = 40;
const GROWTH_OUTPUTS = [1_000, 10_000, 100_000] as const;

/**
 * Prints the throughput of the stores on a real PostgreSQL on this machine, compared with plain inserts of the same
 * bytes.
 */
export async function benchScale(): Promise<void> {
  const server = await startPostgres("disk");
  if (server === undefined) return;
  const { connectionString } = server;
  const stores = openPostgresStores({ connectionString, maxConnections: CONNECTIONS, cleaning: "never" });
  const pool = new pg.Pool({ connectionString, max: CONNECTIONS });
  try {
    await stores.open();
    await pool.query("create table carryover.plain (id bigserial primary key, body bytea)");
    const insert = async (bytes: number): Promise<void> => {
      await pool.query("insert into carryover.plain (body) values ($1)", [randomBytes(bytes)]);
    };
    await benchCalls(stores, insert);
    await benchLooks(stores, pool);
    await benchGrowth({ stores, server, insert });
    await benchBytes(server);
    await benchInventory(server);
    await benchCleaning(stores, server);
  } finally {
    await stores.close();
    await pool.end();
    await server.stop();
  }
}

type Insert = (bytes: number) => Promise<void>;

interface Case {
  readonly name: string;
  /** Bytes of the plain insert. */
  readonly bytes: number;
  /** Called by one of several workers, each with its number. */
  readonly call: (worker: number) => Promise<unknown>;
}

async function benchCalls(stores: PostgresStores, insert: Insert): Promise<void> {
  const rows: string[][] = [["call", "a second", "MB/s", "p50 / insert", "p99 / insert"]];
  for (const each of await casesOf(stores)) {
    const { own, plain, ownMs } = await inTurns(each.call, () => insert(each.bytes));
    const perSecond = (own.length / ownMs) * 1_000;
    rows.push([
      each.name,
      perSecond.toFixed(0),
      ((perSecond * each.bytes) / 1e6).toFixed(1),
      ratio(own, plain, 0.5),
      ratio(own, plain, 0.99),
    ]);
  }
  printTable(
    `PostgreSQL, ${CONNECTIONS} connections of one program, beside a plain insert of as many bytes`,
    rows,
  );
}

async function casesOf(stores: PostgresStores): Promise<readonly Case[]> {
  const put = (bytes: number, outputs = stores.outputs) => succeed(outputs.put(randomBytes(bytes)));
  const content = randomBytes(20_000);
  const known = await succeed(stores.outputs.put(randomBytes(10_000).toString("hex")));
  const journals = Array.from({ length: CONNECTIONS }, (_, worker) => stores.journal(`journal ${worker}`));
  const entry = { type: "request", text: "x".repeat(400) };
  const leases = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, worker) =>
      openLease(stores.records("leases"), `instance-${worker}`),
    ),
  );
  const contended = await contendedLease(stores.records("leases"));
  return [
    { name: "output of 1 KB", bytes: 1_000, call: () => put(1_000) },
    { name: "output of 20 KB", bytes: 20_000, call: () => put(20_000) },
    { name: "output of 200 KB", bytes: 200_000, call: () => put(200_000) },
    { name: "output of 2 MB, in pieces", bytes: 2_000_000, call: () => put(2_000_000) },
    {
      name: "output of 20 KB, claimed by a session",
      bytes: 20_000,
      call: (worker) => put(20_000, stores.session(`s${worker}`).outputs),
    },
    {
      name: "the same output of 20 KB by all at once",
      bytes: 20_000,
      call: () => succeed(stores.outputs.put(content)),
    },
    {
      name: "reading an output of 20 KB",
      bytes: 20_000,
      call: () => stores.outputs.get("handle" in known ? known.handle : ""),
    },
    { name: "entry of a log", bytes: 400, call: (worker) => succeed(journals[worker]?.append(entry)) },
    {
      name: "50 entries of a log at once",
      bytes: 400,
      call: (worker) =>
        Promise.all(Array.from({ length: 50 }, () => succeed(journals[worker]?.append(entry)))),
    },
    { name: "renewing a lease", bytes: 200, call: (worker) => leases[worker]?.() ?? Promise.reject() },
    { name: "taking one lease, all at once", bytes: 200, call: () => contended() },
  ];
}

/** Creates a function that renews its own lease. */
async function openLease(records: RecordStore, id: string): Promise<() => Promise<unknown>> {
  let { version } = await succeed(records.put({ id, value: lease(), expected: "missing" }));
  return async () => {
    const stored = await succeed(records.put({ id, value: lease(), expected: version }));
    version = stored.version;
  };
}

/** Creates a function that competes for one lease with others. */
async function contendedLease(records: RecordStore): Promise<() => Promise<unknown>> {
  const id = "contended";
  await succeed(records.put({ id, value: lease(), expected: "missing" }));
  return async () => {
    const found = await records.get(id);
    if (found.status === "found") await records.put({ id, value: lease(), expected: found.version });
  };
}

function lease(): unknown {
  return { schema: "instance/1", heartbeatAtMs: Date.now(), note: "x".repeat(100) };
}

/** Calls without disk writes, compared with the cheapest query. */
async function benchLooks(stores: PostgresStores, pool: pg.Pool): Promise<void> {
  // Text, because outputs are text: decoding other bytes takes longer than reading them.
  const known = await succeed(stores.outputs.put(randomBytes(10_000).toString("hex")));
  const handle = "handle" in known ? known.handle : "";
  const select = "select content from carryover.outputs where sha256 = $1";
  const written = stores.journal("followed");
  for (let wave = 0; wave < 20; wave += 1)
    await Promise.all(Array.from({ length: 50 }, (_, number) => succeed(written.append({ wave, number }))));
  const journal = stores.follow("followed");
  await journal.look();
  const cases = [
    {
      name: "reading an output of 20 KB / select of its row",
      call: () => stores.outputs.get(handle),
      baseline: () => pool.query(select, [Buffer.from(handle, "hex")]),
    },
    {
      name: "a look at what is asked of a plugin / select 1",
      call: () => succeed(stores.records("control").list()),
      baseline: () => pool.query("select 1"),
    },
    {
      name: "a look of inspect --live without news at 1,000 entries / select 1",
      call: () => journal.look(),
      baseline: () => pool.query("select 1"),
    },
  ];
  const rows: string[][] = [["call / baseline", "p50", "p99"]];
  for (const { name, call, baseline } of cases) {
    const { own, plain } = await inTurns(call, baseline);
    rows.push([name, ratio(own, plain, 0.5), ratio(own, plain, 0.99)]);
  }
  printTable("Calls that only read", rows);
}

/** What `carryover purge` reads, relative to reading the entries of all logs once. */
async function benchInventory(server: PostgresServer): Promise<void> {
  const stores = openPostgresStores({
    connectionString: server.connectionString,
    schema: "inventory",
    timeoutMs: 600_000,
    cleaning: "never",
  });
  await succeed(stores.open());
  await server.run(`
    insert into inventory.journals (key, session)
    select sha256(number::text::bytea), to_json(number::text) from generate_series(1, 2000) as number;
    insert into inventory.journal_entries (key, sequence, writer, value)
    select sha256((1 + number % 2000)::text::bytea), number, gen_random_uuid(),
      to_json(encode(sha256((number % 50000)::text::bytea), 'hex') || ' ' || repeat(md5(number::text), 29))
    from generate_series(1, 100000) as number;
    insert into inventory.outputs (sha256, bytes, content)
    select sha256(number::text::bytea), 100, decode(repeat('00', 100), 'hex')
    from generate_series(0, 49999) as number;
    analyze inventory.journals; analyze inventory.journal_entries; analyze inventory.outputs`);
  const ratios: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const startedMs = performance.now();
    await server.run("select count(*) from inventory.journal_entries where value like '%never there%'");
    const readMs = performance.now() - startedMs;
    const inventory = await stores.inventory();
    if ("status" in inventory) throw new Error(inventory.reason);
    ratios.push((performance.now() - startedMs - readMs) / readMs);
  }
  await stores.close();
  printTable("Everything there is, with 2,000 sessions, 100,000 entries of 1 KB and 50,000 outputs", [
    ["inventory / reading the entries once"],
    [`${quantile(ratios, 0.5).toFixed(1)}x`],
  ]);
}

interface GrowthSetup {
  readonly stores: PostgresStores;
  readonly server: PostgresServer;
  readonly insert: Insert;
}

async function benchGrowth({ stores, server, insert }: GrowthSetup): Promise<void> {
  const rows: string[][] = [["outputs kept", "put p50", "put p99", "get p50", "get p99", "with indexes"]];
  for (const outputs of GROWTH_OUTPUTS) {
    await server.run(`
      insert into carryover.outputs (sha256, bytes, content, used_at)
      select sha256(body), length(body), body, now() - number * interval '1 second'
      from (select number, convert_to(repeat(md5(number::text), 32), 'UTF8') as body
            from generate_series((select count(*) from carryover.outputs) + 1, ${outputs}) as number) as made
      on conflict do nothing`);
    await server.run("analyze carryover.outputs");
    const handles = (
      await server.run(
        "select encode(sha256, 'hex') from carryover.outputs where bytes <= 2000 order by random() limit 500",
      )
    ).split("\n");
    const put = await inTurns(
      () => succeed(stores.outputs.put(randomBytes(1_000))),
      () => insert(1_000),
    );
    let next = 0;
    const get = await inTurns(
      () => stores.outputs.get(handles[next++ % handles.length] ?? ""),
      () => insert(1_000),
    );
    rows.push([
      outputs.toLocaleString("en"),
      ratio(put.own, put.plain, 0.5),
      ratio(put.own, put.plain, 0.99),
      ratio(get.own, get.plain, 0.5),
      ratio(get.own, get.plain, 0.99),
      `${(Number(await server.run("select pg_total_relation_size('carryover.outputs')")) / 1e6).toFixed(0)} MB`,
    ]);
  }
  printTable("The same as the store grows, as a multiple of a plain insert of 1 KB", rows);
}

async function benchBytes(server: PostgresServer): Promise<void> {
  const rows: string[][] = [["table", "rows", "bytes a row beside the content", "of them in indexes"]];
  const tables = [
    ["outputs", "bytes"],
    ["journal_entries", "length(value)"],
    ["records", "length(value)"],
  ] as const;
  await server.run(`
    insert into carryover.records (scope, key, id, version, value, write_id)
    select '"bench"', sha256(number::text::bytea), to_json(number::text), 1, repeat('x', 1000), gen_random_uuid()
    from generate_series(1, 10000) as number`);
  await server.run("vacuum full carryover.outputs, carryover.journal_entries, carryover.records");
  for (const [table, size] of tables) {
    const answer = await server.run(
      `select count(*), (pg_total_relation_size('carryover.${table}') - sum(coalesce(pg_column_size(${table === "outputs" ? "content" : "value"}), 0))) / count(*), pg_indexes_size('carryover.${table}') / count(*) from carryover.${table} where ${size} is not null`,
    );
    const [count = "", overhead = "", indexes = ""] = answer.split("|");
    const whole = (bytes: string): string => bytes.split(".")[0] ?? "";
    rows.push([table, Number(count).toLocaleString("en"), whole(overhead), whole(indexes)]);
  }
  printTable("What a row costs, with its indexes, after a vacuum", rows);
}

async function benchCleaning(stores: PostgresStores, server: PostgresServer): Promise<void> {
  await server.run(
    "update carryover.outputs set used_at = now() - interval '15 days' where content is not null",
  );
  const startedMs = performance.now();
  const report = await succeed(stores.clean());
  const seconds = (performance.now() - startedMs) / 1_000;
  const removed = report.removedOutputs;
  printTable("Cleaning", [
    ["removed", "kept because claimed", "a second"],
    [removed.toLocaleString("en"), report.keptOutputs.toLocaleString("en"), (removed / seconds).toFixed(0)],
  ]);
}

interface Turns {
  readonly own: readonly number[];
  readonly plain: readonly number[];
  /** Total time of our calls. */
  readonly ownMs: number;
}

/** Alternating, so that a busy machine slows both; each call with as many workers as there are connections. */
async function inTurns(call: Case["call"], baseline: () => Promise<unknown>): Promise<Turns> {
  const own: number[] = [];
  const plain: number[] = [];
  let ownMs = 0;
  await runTurn(call, []);
  for (let turn = 0; turn < TURNS; turn += 1) {
    await runTurn(baseline, plain);
    const startedMs = performance.now();
    await runTurn(call, own);
    ownMs += performance.now() - startedMs;
  }
  return { own, plain, ownMs };
}

async function runTurn(call: Case["call"], into: number[]): Promise<void> {
  const work = async (worker: number): Promise<void> => {
    for (let count = 0; count < CALLS_PER_TURN / CONNECTIONS; count += 1) {
      const startedMs = performance.now();
      await call(worker);
      into.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, worker) => work(worker)));
}

function ratio(own: readonly number[], plain: readonly number[], share: number): string {
  return `${(quantile(own, share) / quantile(plain, share)).toFixed(2)}x`;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function succeed<Outcome extends { readonly status: string }>(
  outcome: Promise<Outcome> | undefined,
): Promise<Exclude<Outcome, Unwanted>> {
  const settled = await outcome;
  if (settled === undefined || settled.status === "failed" || settled.status === "conflict")
    throw new Error(JSON.stringify(settled));
  return settled as Exclude<Outcome, Unwanted>;
}

interface Unwanted {
  readonly status: "failed" | "conflict";
}
