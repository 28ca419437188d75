import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/cli.ts";
import { purgeDatabase, readDatabaseInventory } from "../../src/cli/purge/database.ts";
import { type PurgeRequest, planPurge } from "../../src/cli/purge/plan.ts";
import { createLease, leaseRecordId } from "../../src/fork/life/lease.ts";
import type { PluginLease } from "../../src/plugin/stores/control-store.ts";
import { pluginFolders } from "../../src/plugin/stores/folders.ts";
import { openPluginStores } from "../../src/plugin/stores/open-stores.ts";
import type { PluginStores } from "../../src/plugin/stores/plugin-stores.ts";
import type { ProcessIdentity } from "../../src/stores/files/process-identity.ts";
import type { PostgresInventory, RowsToDelete } from "../../src/stores/postgres/inventory.ts";
import type { PostgresStores } from "../../src/stores/postgres/stores.ts";
import { parseChecked } from "../rig/check-json.ts";
import { completedFork, OWNER, runningFork } from "../rig/forks/fork-samples.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const ELSEWHERE: ProcessIdentity = { host: "another-machine/pid:[1]", pid: 7, start: "boot/7" };

let home: string;
let stdout: string;
let stderr: string;
let plugin: PluginStores;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "carryover-purge-database-"));
  for (const [name, folder] of [
    ["HOME", ""],
    ["XDG_DATA_HOME", "data"],
    ["XDG_STATE_HOME", "state"],
    ["XDG_CACHE_HOME", "cache"],
    ["XDG_CONFIG_HOME", "config"],
  ] as const)
    vi.stubEnv(name, join(home, folder));
  vi.stubEnv("CARRYOVER_TEST_ADDRESS", postgres?.server.tcpConnectionString ?? "");
  const config = { plugin: [["carryover", { store: "{env:CARRYOVER_TEST_ADDRESS}" }]] };
  vi.stubEnv("OPENCODE_CONFIG_CONTENT", JSON.stringify(config));
  [stdout, stderr] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  plugin = pluginIn("data");
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await plugin.close();
  await run("drop schema if exists carryover cascade");
  rmSync(home, { recursive: true, force: true });
});

const purge = (...args: readonly string[]): Promise<number> => runCli(["purge", ...args], "0.0.0");
const run = async (sql: string): Promise<string> => (await postgres?.server.run(sql)) ?? "";
const count = async (table: string): Promise<number> =>
  Number(await run(`select count(*) from carryover.${table}`));

function pluginIn(dataHome: string): PluginStores {
  const folders = pluginFolders({ store: undefined, env: { XDG_DATA_HOME: join(home, dataHome) } });
  return openPluginStores({ store: postgres?.server.tcpConnectionString, folders, now: Date.now });
}

function library(): PostgresStores {
  return postgres?.open("carryover", { maxConnections: 5 }) ?? fail("no server");
}

/** What the plugin writes of one root session: a log, an output, a fork and what that inherited. */
async function fill(rootSessionId: string, filling: Filling = {}): Promise<void> {
  const { stores = plugin, output = `output of ${rootSessionId}`, run: state = "over" } = filling;
  const stored = await stores.outputs.put(output);
  const view = await stores.outputs.put(`view of ${rootSessionId}`);
  if (stored.status === "failed" || view.status === "failed") throw new Error("not stored");
  const journal = stores.journal(rootSessionId);
  await journal.append({ type: "tool-output", handle: stored.handle });
  await journal.append({ type: "other", text: "a long entry ".repeat(1_000) });
  const change = {
    id: `fork-${rootSessionId}`,
    rootSessionId,
    inherited: { mode: "full", reason: "r", chars: 1, messages: 1, snapshotId: view.handle } as const,
    owner: { ...OWNER, process: ELSEWHERE, heartbeatAtMs: state === "over" ? 0 : stores.now() },
  };
  const value = state === "over" ? completedFork(change) : runningFork(change);
  await stores.forks("/home/dev/app").put({ id: change.id, value, expected: "missing" });
  await expect
    .poll(() => run(`select count(*) from carryover.records where id = '"${rootSessionId}"'`), {
      timeout: 20_000,
    })
    .toBe("1");
}

interface Filling {
  readonly stores?: PluginStores;
  readonly output?: string;
  readonly run?: "over" | "goes-on";
}

async function lease(instanceId: string, { process, logs, agoMs = 0 }: Sign): Promise<void> {
  const { instances, now } = plugin.control;
  await instances.list();
  const value: PluginLease = { ...createLease({ instanceId, process }, now() - agoMs), logs };
  await instances.put({ id: leaseRecordId(instanceId), value, expected: "missing" });
}

interface Sign {
  readonly process: ProcessIdentity;
  readonly logs: readonly string[];
  readonly agoMs?: number;
}

function fail(what: string): never {
  throw new Error(what);
}

describe.skipIf(postgres === undefined)("carryover purge with a database", () => {
  it("lists what is kept of all machines, and deletes nothing when nothing is named", async () => {
    const elsewhere = pluginIn("other");
    await fill("ses_a");
    await fill("ses_b", { stores: elsewhere });
    await elsewhere.close();
    expect(await purge()).toBe(0);
    expect(stdout).toMatch(/ses_a .* 1 fork/);
    expect(stdout).toMatch(/ses_b .* 1 fork/);
    expect(stdout).toMatch(/whole outputs .* 2 items/);
    expect(stdout).toMatch(/inherited conversations .* 2 items/);
    expect(stdout).toContain("Nothing was deleted");
    expect(stdout + stderr).not.toContain(postgres?.server.password);
    expect([await count("outputs"), await count("journals")]).toEqual([4, 2]);
  });

  it("deletes one session with its log, forks, outputs and views, and nothing that another has", async () => {
    await fill("ses_a", { output: "both said this" });
    await fill("ses_b", { output: "both said this" });
    expect(await purge("--session", "ses_a", "--dry-run")).toBe(0);
    expect(await count("journals")).toBe(2);
    expect(await purge("--session", "ses_a", "--yes", "--json")).toBe(0);
    const report = parseChecked("purge", stdout.slice(stdout.indexOf("{"))) as Record<string, unknown>;
    // Its log, where that is written, its fork and its view.
    expect(report).toMatchObject({ status: "purged", files: 4, problems: [], sessions: [{ id: "ses_a" }] });
    expect(report.contents).toMatchObject([{ kind: "inherited" }]);
    expect(await run("select session from carryover.journals")).toBe('"ses_b"');
    expect(await count("outputs")).toBe(2);
    expect(await run("select count(*) from carryover.records where value is not null")).toBe("2");
    expect(await purge("--session", "ses_a", "--yes")).toBe(2);
  });

  it("keeps an output that a session of a program claims, and deletes it with that session", async () => {
    await fill("ses_a", { output: "claimed too" });
    const stores = library();
    await stores.session("chat").outputs.put("claimed too");
    expect(await purge("--session", "ses_a", "--yes")).toBe(0);
    expect(await count("outputs")).toBe(1);
    expect(await purge("--session", "chat", "--yes")).toBe(0);
    expect([await count("outputs"), await count("output_claims")]).toEqual([0, 0]);
  });

  it("deletes by age, and never a program's own records", async () => {
    await fill("ses_old");
    await library().records("an-app").put({ id: "mine", value: 1, expected: "missing" });
    await run(`
      update carryover.outputs set used_at = used_at - interval '40 days';
      update carryover.journal_entries set stored_at = stored_at - interval '40 days';
      update carryover.records set stored_at = stored_at - interval '40 days'`);
    await fill("ses_new");
    expect(await purge("--older-than", "30d", "--yes")).toBe(0);
    expect(await run("select session from carryover.journals")).toBe('"ses_new"');
    expect(await count("outputs")).toBe(2);
    expect(await run("select scope from carryover.records where id = '\"mine\"'")).toBe('"an-app"');
  });

  it("deletes everything", async () => {
    await fill("ses_a");
    await library().session("chat").journal.append("hello");
    await library().records("an-app").put({ id: "mine", value: 1, expected: "missing" });
    await library().outputs.put("nobody's");
    const { root } = pluginFolders({ store: undefined, env: process.env });
    mkdirSync(root, { recursive: true });
    for (const log of ["plugin.log", "plugin.log.old"]) writeFileSync(join(root, log), "Fork 1 (a title)");
    expect(await purge("--all", "--yes")).toBe(0);
    expect(stderr).toBe("");
    for (const log of ["plugin.log", "plugin.log.old"]) expect(existsSync(join(root, log))).toBe(false);
    for (const table of ["journals", "journal_entries", "outputs", "output_claims", "records"])
      expect([table, await count(table)]).toEqual([table, 0]);
  });

  it("leaves what a plugin anywhere works with, unless it is forced", async () => {
    await fill("ses_open");
    await fill("ses_forking", { run: "goes-on" });
    await fill("ses_free");
    await run("update carryover.outputs set used_at = used_at - interval '1 hour'");
    await lease("i9", { process: ELSEWHERE, logs: ["ses_open"] });
    expect(await purge("--all", "--yes")).toBe(0);
    expect(stdout).toContain("1 program at work");
    expect(stdout).toMatch(/left alone[\s\S]*ses_open {2}process 7 on another-machine writes its log/);
    expect(stdout).toMatch(/left alone[\s\S]*ses_forking {2}fork 1 runs/);
    expect(await run("select session from carryover.journals order by 1")).toBe('"ses_forking"\n"ses_open"');
    expect(await count("outputs")).toBe(4);
    expect(await purge("--all", "--yes", "--force")).toBe(0);
    expect([await count("journals"), await count("outputs")]).toEqual([0, 0]);
    // The sign of life of the one that runs.
    expect(await count("records")).toBe(1);
  });

  it.each([
    { minutes: 2, left: 1 },
    { minutes: 4, left: 0 },
  ])(
    "of a program whose sign of life is $minutes minutes old, $left log is left",
    async ({ minutes, left }) => {
      await fill("ses_left");
      await lease("i9", { process: ELSEWHERE, logs: ["ses_left"], agoMs: minutes * 60_000 });
      expect(await purge("--all", "--yes")).toBe(0);
      expect(await count("journals")).toBe(left);
      if (left === 0) expect(await count("records")).toBe(0);
    },
  );

  it("keeps an output that was just used while somebody works, and says so", async () => {
    await fill("ses_a");
    await lease("i9", { process: ELSEWHERE, logs: ["ses_other"] });
    expect(await purge("--session", "ses_a", "--yes")).toBe(2);
    expect(stderr).toContain("2 of the outputs");
    expect([await count("journals"), await count("outputs")]).toEqual([0, 2]);
  });

  it("deletes nothing that came after the list was shown, and nothing that is used since", async () => {
    await fill("ses_a", { output: "said again later" });
    await fill("ses_b");
    const stores = library();
    const request: PurgeRequest = { filter: { type: "all" }, force: "never", nowMs: Date.now() };
    const plan = planPurge(await readDatabaseInventory(stores), request);
    await fill("ses_new", { output: "said again later" });
    await stores.outputs.put("named by nobody, and new");
    await lease("i9", { process: ELSEWHERE, logs: ["ses_b"] });
    await run("update carryover.outputs set used_at = used_at - interval '1 hour'");
    const signal = new AbortController().signal;
    expect(await purgeDatabase(stores, { plan, request, signal })).toMatchObject({
      status: "purged",
      // The log of ses_a, where that is written, its fork and its view.
      files: 4,
      problems: [],
    });
    expect(await run("select session from carryover.journals order by 1")).toBe('"ses_b"\n"ses_new"');
    expect(await count("outputs")).toBe(5);
  });

  it("shows nothing to a terminal that somebody wrote into the database for it", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u202e";
    await fill("ses_a");
    await library().journal(`ses_${evil}x`).append("hello");
    await lease("i9", { process: { ...ELSEWHERE, host: `${evil}host/1` }, logs: ["ses_a"] });
    expect(await purge("--all", "--dry-run")).toBe(0);
    expect(stdout).toMatch(/ses_x/);
    expect(stdout).toContain("on host writes its log");
    for (const mark of ["\u001b", "\u0007", "\u202e"]) expect(stdout + stderr).not.toContain(mark);
  });

  it("does nothing once it is stopped", async () => {
    await fill("ses_a");
    const stores = library();
    const request: PurgeRequest = { filter: { type: "all" }, force: "never", nowMs: Date.now() };
    const plan = planPurge(await readDatabaseInventory(stores), request);
    const stopped = await purgeDatabase(stores, { plan, request, signal: AbortSignal.abort() });
    expect(stopped).toMatchObject({ status: "stopped", files: 0 });
    expect(await count("journals")).toBe(1);
  });

  it("does nothing at all where one step fails", async () => {
    await fill("ses_a");
    await run(`
      create function carryover.refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
      create trigger refuse before delete on carryover.outputs for each row execute function carryover.refuse()`);
    expect(await purge("--all", "--yes")).toBe(2);
    expect(stderr).toContain("all of it is gone or nothing is");
    expect([await count("journals"), await count("outputs"), await count("journal_entries")]).toEqual([
      1, 2, 2,
    ]);
  });
});

describe.skipIf(postgres === undefined)("purging the stores of a database", () => {
  it("waits for a claim that is being made, and keeps what it claims", async () => {
    const stores = library();
    const put = await stores.outputs.put("claimed at the last moment");
    const handle = put.status === "stored" ? put.handle : fail("not stored");
    const claiming = new pg.Client({ connectionString: postgres?.server.connectionString });
    await claiming.connect();
    await claiming.query("begin");
    await claiming.query(
      "insert into carryover.output_claims (sha256, claimant) values (decode($1, 'hex'), '\"s\"')",
      [handle],
    );
    const purging = stores.purge(() => ({ sessions: [], records: [], outputs: [handle], minAgeMs: 0 }));
    await expect
      .poll(() => run("select count(*) from pg_stat_activity where wait_event_type = 'Lock'"), {
        timeout: 20_000,
      })
      .toBe("1");
    await claiming.query("commit");
    await claiming.end();
    expect(await purging).toMatchObject({ status: "purged", outputs: 0 });
    expect(await stores.outputs.get(handle)).toBe("claimed at the last moment");
  });

  it("is done as a whole or not at all when the server is killed in the middle", async () => {
    await fill("ses_a");
    const stores = library();
    await run(`
      create function carryover.linger() returns trigger language plpgsql as $$
        begin perform pg_sleep(5); return old; end $$;
      create trigger linger before delete on carryover.outputs for each row execute function carryover.linger()`);
    const everything = (inventory: PostgresInventory): RowsToDelete => ({
      sessions: inventory.logs.map(({ sessionId }) => sessionId),
      records: inventory.records,
      outputs: inventory.outputs.map(({ handle }) => handle),
      minAgeMs: 0,
    });
    const purging = stores.purge(everything);
    await expect
      .poll(() => run("select count(*) from pg_stat_activity where wait_event = 'PgSleep'"), {
        timeout: 20_000,
      })
      .toBe("1");
    await postgres?.server.kill();
    await postgres?.server.restart();
    expect([await count("journals"), await count("outputs"), await count("journal_entries")]).toEqual([
      1, 2, 2,
    ]);
    await run("drop trigger linger on carryover.outputs");
    await purging;
    expect(await stores.purge(everything)).toMatchObject({ status: "purged" });
    expect([await count("journals"), await count("outputs"), await count("records")]).toEqual([0, 0, 0]);
  }, 120_000);

  it("never takes an output from a session that stays, whoever puts and claims meanwhile", async () => {
    const stores = library();
    const over: string[] = [];
    const kept: string[] = [];
    let isWriting = true;
    const purging = (async () => {
      let removed = 0;
      while (isWriting) {
        const purged = await stores.purge(({ outputs }) => ({
          sessions: over.splice(0),
          records: [],
          outputs: outputs.map(({ handle }) => handle),
          minAgeMs: 0,
        }));
        if (purged.status === "failed") throw new Error(purged.reason);
        removed += purged.outputs;
      }
      return removed;
    })();
    // The same few contents again and again, by sessions that come and go.
    const work = async (worker: number): Promise<void> => {
      for (let round = 0; round < 40; round += 1) {
        const session = `ses_${worker}_${round}`;
        const content = `content ${(worker + round) % 4}`.repeat(round % 7 === 0 ? 200_000 : 1);
        const put = await stores.session(session).outputs.put(content);
        const handle = put.status === "stored" ? put.handle : fail(put.reason);
        expect(await stores.outputs.get(handle)).toBe(content);
        if (round % 8 === 0) kept.push(handle);
        else over.push(session);
      }
    };
    await Promise.all([0, 1, 2].map(work));
    isWriting = false;
    expect(await purging).toBeGreaterThan(0);
    for (const handle of kept) expect(await stores.outputs.get(handle)).toBeDefined();
  }, 120_000);

  it("deletes no record that was changed since it was looked at", async () => {
    const stores = library();
    const records = stores.records("plugin/control/requests");
    await records.put({ id: "a", value: 1, expected: "missing" });
    const purged = await stores.purge(({ records: found }) => ({
      sessions: [],
      records: found.map((record) => ({ ...record, version: record.version - 1 })),
      outputs: [],
      minAgeMs: 0,
    }));
    expect(purged).toMatchObject({ records: 0 });
    expect(await records.get("a")).toMatchObject({ status: "found" });
  });
});
