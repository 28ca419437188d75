import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { openPostgresStores, type PostgresStores } from "../../src/stores/postgres/stores.ts";
import { postgresForTests } from "./postgres-place.ts";
import { type Stall, startProxy } from "./postgres-proxy.ts";

const LIMIT_MS = 800;
/** For a busy machine; without a limit these calls never end. */
const SPARE_MS = 6_000;

/** In the greeting, in the making of the schema, and in the statements of the calls below; with CARRYOVER_LONG at each of them. */
const STALLS =
  process.env.CARRYOVER_LONG === undefined
    ? [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32]
    : Array.from({ length: 40 }, (_, index) => index + 1);

const place = await postgresForTests();
const proxy = place === undefined ? undefined : await startProxy(place.server.tcpConnectionString);
afterAll(() => proxy?.stop());

/** Every kind of call, as an agent makes them; each gives what it was asked for, or a failure. */
async function callAll(stores: PostgresStores): Promise<readonly boolean[]> {
  const records = stores.records("r");
  const calls: (() => Promise<unknown>)[] = [
    () => stores.open(),
    () => records.put({ id: "a", value: 1, expected: "missing" }),
    () => records.get("a"),
    () => records.list(),
    () => stores.session("s").journal.append("entry"),
    () => stores.journal("s").read(),
    () => stores.session("s").outputs.put("text"),
    () => stores.outputs.put("large ".repeat(200_000)),
    () => stores.outputs.get("0".repeat(64)),
    () => stores.logs(),
    () => stores.release("s"),
  ];
  const told: boolean[] = [];
  for (const call of calls) {
    const startedMs = performance.now();
    const outcome = await call();
    expect(performance.now() - startedMs).toBeLessThan(LIMIT_MS + SPARE_MS);
    told.push(isFailure(outcome));
  }
  return told;
}

/** Also that of a log, which is among its problems. */
function isFailure(outcome: unknown): boolean {
  return JSON.stringify(outcome ?? "").includes("failed");
}

describe.skipIf(place === undefined)("a network that stops in the middle of a call", () => {
  it.each(["client", "server"] as const)(
    "at any message of the %s: the call ends in time as a failure, and the stores go on by themselves",
    async (side) => {
      let stalls = 0;
      for (const after of STALLS) {
        const stores = open(place?.newSchema() ?? "");
        network().stallAt({ side, after } satisfies Stall);
        const failed = await callAll(stores);
        const hasStalled = network().unmute();
        // A machine that is slow enough lets a call run out of its time by itself.
        if (hasStalled) expect(failed).toContain(true);
        stalls += hasStalled ? 1 : 0;
        if (after === 1 || after === 8)
          await expect.poll(() => stores.open(), { timeout: 30_000 }).toEqual({ status: "open" });
        await stores.close();
      }
      expect(stalls).toBeGreaterThan(4);
    },
  );

  it("leaves nothing to others behind in the making of the schema", async () => {
    const schema = place?.newSchema() ?? "";
    const stores = open(schema);
    // The time, the look at the schema: then begins what all other calls wait for.
    network().stallAt({ side: "client", after: 6 });
    const first = await Promise.all([
      stores.open(),
      stores.records("r").get("a"),
      stores.journal("s").read(),
    ]);
    expect(first.every(isFailure)).toBe(true);
    network().unmute();
    await expect.poll(() => stores.records("r").get("a"), { timeout: 30_000 }).toEqual({ status: "missing" });
    await stores.close();
  });

  it("is not waited for by a pool of somebody else, which has no limits", async () => {
    const pool = new pg.Pool({ connectionString: network().connectionString, max: 1 });
    pool.on("error", () => {});
    const stores = openPostgresStores({ pool, schema: place?.newSchema() ?? "", timeoutMs: LIMIT_MS });
    network().mute();
    const startedMs = performance.now();
    const calls = Array.from({ length: 6 }, () => stores.records("r").get("a"));
    for (const outcome of await Promise.all(calls))
      expect(outcome).toMatchObject({ status: "failed", code: "TIMEOUT" });
    expect(performance.now() - startedMs).toBeLessThan(LIMIT_MS + SPARE_MS);
    network().unmute();
    await stores.close();
  });
});

function open(schema: string): PostgresStores {
  return openPostgresStores({
    connectionString: network().connectionString,
    schema,
    maxConnections: 2,
    cleaning: "never",
    timeoutMs: LIMIT_MS,
  });
}

function network(): NonNullable<typeof proxy> {
  if (proxy === undefined) throw new Error("no server");
  return proxy;
}
