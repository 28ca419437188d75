import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { cleanPostgresOutputs } from "./clean-outputs.ts";
import { createPostgresDatabase, type PostgresDatabaseOptions } from "./database.ts";
import { createPostgresJournal } from "./journal.ts";
import type { PostgresPool, Statement } from "./pool.ts";

describe("a server that is away", () => {
  it("is tried again, later and later, until it answers", async () => {
    const { database, world } = create({ failures: 4 });
    expect(await database.use(async (connection) => connection.rows("select 1", []))).toEqual([]);
    expect(world.connects).toBe(5);
    expect(world.slept).toHaveLength(4);
    for (const [index, sleptMs] of world.slept.entries()) {
      expect(sleptMs).toBeGreaterThanOrEqual(25 * 2 ** index);
      expect(sleptMs).toBeLessThanOrEqual(50 * 2 ** index);
    }
  });

  it("is given up after a bounded time, with its own words", async () => {
    const { database, world } = create({ failures: Number.POSITIVE_INFINITY });
    expect(await database.use(async () => "done")).toMatchObject({ status: "failed", code: "ECONNREFUSED" });
    expect(world.slept.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(1_000);
  });

  it("is not asked by everybody who comes after, and asked again after a rest", async () => {
    const { database, world } = create({ failures: Number.POSITIVE_INFINITY });
    await database.use(async () => "done");
    const connects = world.connects;
    for (let call = 0; call < 10; call += 1)
      expect(await database.use(async () => "done")).toMatchObject({ status: "failed" });
    expect(world.connects).toBe(connects);
    const sleeps = world.slept.length;
    world.nowMs += 1_001;
    expect(await database.use(async () => "done")).toMatchObject({ status: "failed" });
    expect([world.connects, world.slept.length]).toEqual([connects + 1, sleeps]);
    world.failures = 0;
    world.nowMs += 2_001;
    expect(await database.use(async () => "done")).toBe("done");
  });
});

describe("a job", () => {
  it("is done again on another connection when its own is lost", async () => {
    const { database, world } = create({});
    let tries = 0;
    const done = await database.use(async () => {
      tries += 1;
      if (tries < 3) throw new Error("Connection terminated unexpectedly");
      return tries;
    });
    expect(done).toBe(3);
    expect(world.dropped).toBe(2);
  });

  it("is not done again for a mistake of its own, which is told once", async () => {
    const { database, world } = create({});
    const failure = await database.use(async () => {
      throw Object.assign(new Error('no "postgres://a:word@h/d"'), { code: "42601" });
    });
    expect(failure).toEqual({ status: "failed", code: "42601", reason: 'no "postgres://[REDACTED]@h/d"' });
    expect(world.slept).toEqual([]);
    expect(await database.use(async () => "works")).toBe("works");
  });

  it("fails with a value whatever is thrown", async () => {
    const { database } = create({});
    for (const thrown of [undefined, null, "text", { code: 7 }])
      expect(
        await database.use(async () => {
          throw thrown;
        }),
      ).toMatchObject({ status: "failed", code: "UNKNOWN" });
  });

  it("waits for its turn when as many run as may", async () => {
    const { database, world } = create({ maxConnections: 2 });
    let running = 0;
    let most = 0;
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        database.use(async () => {
          running += 1;
          most = Math.max(most, running);
          order.push(index);
          await new Promise((resolve) => setTimeout(resolve, 1));
          running -= 1;
        }),
      ),
    );
    expect(most).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(world.released).toBe(8);
  });

  it("fails once the store is closed, and a pool of somebody else stays open", async () => {
    const { database, world } = create({});
    await database.use(async () => "done");
    await database.close();
    expect(await database.use(async () => "done")).toMatchObject({ status: "failed", code: "CLOSED" });
    expect(world.ended).toBe(0);
  });
});

it("listens to a connection for good, since a server may speak on one that was given up", async () => {
  const { database, world } = create({});
  await database.use(async () => {
    throw Object.assign(new Error("no"), { code: "42601" });
  });
  expect(world.released).toBe(1);
  expect(() => world.client.emit("error", new Error("terminating connection"))).not.toThrow();
});

it("listens to a connection from its first moment, since a server may go down as it lets us in", async () => {
  const { database, world } = create({});
  await database.use(async () => "done");
  const client = new EventEmitter();
  world.pool.emit("connect", client);
  expect(() => client.emit("error", new Error("terminating connection"))).not.toThrow();
  expect(() => world.pool.emit("error", new Error("idle connection lost"))).not.toThrow();
});

it("knows the server's time from its first answer", async () => {
  const { database, world } = create({});
  expect(database.now()).toBe(world.nowMs);
  await database.use(async () => "done");
  expect(database.now()).toBe(world.nowMs + SERVER_AHEAD_MS);
});

it("learns the server's time with every answer that has it, as that of a record has", async () => {
  const { database, world } = create({});
  await database.use(async () => "done");
  // Asleep for an hour, by a clock that does not count it.
  world.aheadMs = 3_600_000;
  await database.use((connection) => connection.rows("select clock_timestamp()", []));
  expect(database.now()).toBe(world.nowMs + 3_600_000);
});

describe("a call that gets no answer", () => {
  it.each(["connect", "relname = 'migrations'", "select 1"])("at %s ends in time", async (silentAt) => {
    const { database, world } = create({ silentAt, timeoutMs: 20 });
    const ask = () => database.use((connection) => connection.rows("select 1", []));
    const answers = await Promise.all([ask(), ask(), ask(), ask(), ask(), ask()]);
    for (const answer of answers) expect(answer).toMatchObject({ status: "failed", code: "TIMEOUT" });
    world.silentAt = undefined;
    world.nowMs += 11_000;
    expect(await ask()).toEqual([]);
  });

  it("leaves no statement behind that comes later", async () => {
    const { database, world } = create({ silentAt: "select 1", timeoutMs: 20 });
    let later: unknown;
    const answer = await database.use(async (connection) => {
      const first = connection.rows("select 1", []);
      await first.catch(() => {});
      later = await connection.rows("select 2", []).catch((error: unknown) => error);
    });
    expect(answer).toMatchObject({ code: "TIMEOUT" });
    expect(world.dropped).toBe(1);
    world.hearAgain();
    await expect.poll(() => later).toBeInstanceOf(Error);
  });
});

describe("a call that is slow on a server that answers", () => {
  it("costs others nothing: they are tried, and not told that there is no answer", async () => {
    const { database } = create({ silentAt: "locked", timeoutMs: 200 });
    const ask = () => database.use((connection) => connection.rows("select 1", []));
    const slow = database.use((connection) => connection.rows("select locked", []));
    const asking = setInterval(() => void ask(), 10);
    expect(await slow).toMatchObject({ code: "TIMEOUT" });
    clearInterval(asking);
    expect(await ask()).toEqual([]);
  });

  it("ends in time also where a log is begun before its first entry", async () => {
    const { database } = create({ silentAt: "unnest", answerMs: { "max(sequence)": 900 }, timeoutMs: 1_000 });
    const startedMs = performance.now();
    expect(await createPostgresJournal(database, "s").append("entry")).toMatchObject({ code: "TIMEOUT" });
    expect(performance.now() - startedMs).toBeLessThan(1_800);
  });

  it("ends in time also behind another", async () => {
    const { database } = create({ answerMs: { unnest: 900 }, timeoutMs: 1_000 });
    const journal = createPostgresJournal(database, "s");
    const first = journal.append("first");
    const startedMs = performance.now();
    expect(await journal.append("second")).toMatchObject({ code: "TIMEOUT" });
    expect(performance.now() - startedMs).toBeLessThan(1_700);
    expect(await first).toMatchObject({ status: "appended", sequence: 1 });
  });

  it("takes as long as it needs where it cleans, each step in its time", async () => {
    let slices = 8;
    const { database } = create({
      answerMs: { "delete from": 60 },
      rowsOf: (text) => (text.includes("returning stored") && slices-- > 0 ? [{ bytes: 5 }] : []),
      timeoutMs: 300,
    });
    expect(await cleanPostgresOutputs(database)).toMatchObject({ status: "cleaned", removedOutputs: 8 });
  });
});

const SERVER_AHEAD_MS = 90_000;

interface World {
  /** What is never answered. */
  silentAt: string | undefined;
  hearAgain: () => void;
  aheadMs: number;
  /** How often connecting still fails. */
  failures: number;
  nowMs: number;
  connects: number;
  released: number;
  dropped: number;
  ended: number;
  readonly slept: number[];
  /** How long the answer to a statement with these words takes. */
  readonly answerMs: Readonly<Record<string, number>>;
  readonly rowsOf: (text: string) => readonly unknown[];
  /** Throws like that of the driver when nobody listens. */
  readonly client: EventEmitter;
  readonly pool: EventEmitter;
}

function create({
  failures = 0,
  silentAt,
  answerMs = {},
  rowsOf = () => [],
  ...options
}: Partial<World> & PostgresDatabaseOptions) {
  let hearAgain = (): void => {};
  const heard = new Promise<void>((resolve) => {
    hearAgain = resolve;
  });
  const world: World = {
    failures,
    silentAt,
    hearAgain,
    aheadMs: SERVER_AHEAD_MS,
    nowMs: 1_000_000,
    connects: 0,
    released: 0,
    dropped: 0,
    ended: 0,
    slept: [],
    answerMs,
    rowsOf,
    client: new EventEmitter(),
    pool: new EventEmitter(),
  };
  const pool: PostgresPool = {
    async connect() {
      world.connects += 1;
      if (world.silentAt === "connect") await heard;
      if (world.failures > 0) {
        world.failures -= 1;
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      }
      return {
        async query(statement) {
          if (world.silentAt !== undefined && statement.text.includes(world.silentAt)) await heard;
          for (const [words, ms] of Object.entries(answerMs))
            if (statement.text.includes(words)) await sleep(ms);
          return { rows: answerTo(statement, world) };
        },
        release(error) {
          world.released += 1;
          if (error !== undefined) world.dropped += 1;
        },
        on: (event, listener) => world.client.on(event, listener),
      };
    },
    async end() {
      world.ended += 1;
    },
    on: (event: string, listener: (subject: never) => void) =>
      world.pool.on(event, (subject: unknown) => listener(subject as never)),
  };
  const clock = {
    now: () => world.nowMs,
    async sleep(ms: number) {
      world.slept.push(ms);
      world.nowMs += ms;
    },
  };
  return { database: createPostgresDatabase({ pool, retryMs: 1_000, clock, ...options }), world };
}

/** A server whose schema is up to date. */
function answerTo({ text }: Statement, { nowMs, aheadMs, rowsOf }: World): readonly unknown[] {
  if (text.includes("clock_timestamp")) return [{ serverNowMs: nowMs + aheadMs }];
  if (text.includes("relname = 'migrations'")) return [{ yes: true }];
  if (text.includes("max(version)")) return [{ version: 1_000 }];
  return rowsOf(text);
}
