import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runCli } from "../../src/cli/cli.ts";
import { createLease } from "../../src/fork/life/lease.ts";
import type { PluginContext } from "../../src/plugin/context/context.ts";
import { createControlFeature } from "../../src/plugin/control.ts";
import type { Forks } from "../../src/plugin/forks/forks.ts";
import type { ControlAnswer } from "../../src/plugin/stores/control-store.ts";
import { pluginFolders } from "../../src/plugin/stores/folders.ts";
import { openPluginStores } from "../../src/plugin/stores/open-stores.ts";
import type { PluginStores } from "../../src/plugin/stores/plugin-stores.ts";
import type { OwnCompaction } from "../../src/plugin/window/own-compaction.ts";
import type { PruneWindow } from "../../src/plugin/window/prune.ts";
import { currentProcess } from "../../src/stores/files/process-identity.ts";
import { asObject } from "../../src/text/unknown-value.ts";
import { OWNER, runningFork } from "../rig/forks/fork-samples.ts";
import { hooksOf } from "../rig/plugin-context.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();
const ELSEWHERE = { host: "another-machine/pid:[1]", pid: 7, start: "boot/7" };

let home: string;
let stdout: string;
let stderr: string;
const opened: PluginStores[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "carryover-commands-"));
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_DATA_HOME", join(home, "here"));
  vi.stubEnv("XDG_CONFIG_HOME", join(home, "config"));
  writeFileSync(join(home, "address"), `${postgres?.server.tcpConnectionString}\n`);
  const config = { plugin: [["carryover", { store: "{file:~/address}" }]] };
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
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await Promise.all(opened.splice(0).map((stores) => stores.close()));
  await postgres?.server.run("drop schema if exists carryover cascade");
  rmSync(home, { recursive: true, force: true });
});

async function carryover(...args: readonly string[]): Promise<{ code: number; said: string }> {
  [stdout, stderr] = ["", ""];
  const code = await runCli(args, "0.0.0");
  expect(stdout + stderr).not.toContain(postgres?.server.password);
  return { code, said: stdout || stderr };
}

/** The stores of a plugin in a home of its own. */
function pluginIn(name: "here" | "elsewhere"): PluginStores {
  const folders = pluginFolders({ store: undefined, env: { XDG_DATA_HOME: join(home, name) } });
  const stores = openPluginStores({ store: postgres?.server.tcpConnectionString, folders, now: Date.now });
  opened.push(stores);
  return stores;
}

/** A plugin that runs, with one fork and one session that can be undone. */
async function runPlugin(stores: PluginStores, { forkId, sessionId }: Work) {
  const told: unknown[] = [];
  const live = runningFork({ id: forkId });
  const forks = {
    owner: () => ({ instanceId: `of ${forkId}`, process: currentProcess(), heartbeatAtMs: 0 }),
    waitForEnd: async () => ({ state: "cancelled" }),
    keeper: {
      get: (id: string) => (id === forkId ? live : undefined),
      all: () => [live],
      dispatch: async (id: string, event: object) => void told.push({ id, ...event }),
    },
  } as unknown as Forks;
  const pruning = {
    isOpen: (id: string) => id === sessionId,
    undo: async () => ({
      status: "undone",
      batch: { id: "b1", step: "prune", reason: "", at: 1, edits: [] },
    }),
  } as unknown as PruneWindow;
  const context = { stores, now: Date.now, notify: { log: () => {} } } as unknown as PluginContext;
  const compaction = { newestAtMs: async () => undefined } as unknown as OwnCompaction;
  const feature = createControlFeature({ context, control: stores.control, forks, pruning, compaction });
  const hooks = hooksOf([feature], () => {});
  await hooks.event?.({ event: { type: "session.created", properties: {} } });
  return { told, stop: async () => hooks.dispose?.() };
}

/** Somebody who answers every request. */
function answerAll({ control }: PluginStores, answer: ControlAnswer) {
  const timer = setInterval(async () => {
    const listed = await control.requests.list();
    if (listed.status === "failed") return;
    for (const { id, value, version } of listed.records) {
      const state = { status: "answered", ...answer };
      await control.requests.put({ id, value: { ...asObject(value), state }, expected: version });
    }
  }, 200);
  return { stop: () => clearInterval(timer) };
}

interface Work {
  readonly forkId: string;
  readonly sessionId: string;
}

const batch = (id: string, at: number) => ({
  v: 1,
  type: "batch",
  id,
  step: "prune",
  reason: "pays",
  at,
  tokensBefore: 900,
  tokensAfter: 400,
  edits: [],
});

async function edit(stores: PluginStores, sessionId: string, [id, at]: readonly [string, number]) {
  await stores.journal(sessionId).append({ atMs: at, sessionId, type: "engine", record: batch(id, at) });
}

const seenFromHere = async (stores: PluginStores): Promise<readonly string[]> =>
  (await stores.logs()).logs.flatMap(({ rootSessionId, writtenIn }) =>
    writtenIn === "this-home" ? [rootSessionId] : [],
  );

describe.skipIf(postgres === undefined)("the command line with a database", () => {
  it("takes back the newest edit of this home, and one elsewhere only by its session's name", async () => {
    const [here, elsewhere] = [pluginIn("here"), pluginIn("elsewhere")];
    await edit(here, "ses_here", ["b1", 1]);
    await edit(here, "ses_here_too", ["b2", 2]);
    await edit(elsewhere, "ses_elsewhere", ["b3", 3]);
    await expect
      .poll(async () => (await seenFromHere(here)).toSorted(), { timeout: 20_000 })
      .toEqual(["ses_here", "ses_here_too"]);
    expect(JSON.parse((await carryover("undo", "--json")).said)).toMatchObject({
      sessionId: "ses_here_too",
      batchId: "b2",
      where: "journal",
    });
    expect((await carryover("undo")).said).toContain("Taken back in ses_here:");
    expect(await carryover("undo")).toMatchObject({ code: 2 });
    expect((await carryover("undo", "--session", "ses_elsewhere")).said).toContain("ses_elsewhere");
    expect((await elsewhere.journal("ses_elsewhere").read()).entries).toHaveLength(2);
    // Whoever took it back does not own the session now.
    expect(await seenFromHere(here)).not.toContain("ses_elsewhere");
  });

  it("asks a plugin on another machine to take an edit back and to stop a fork", async () => {
    const elsewhere = pluginIn("elsewhere");
    await edit(elsewhere, "ses_1", ["b1", 1]);
    await elsewhere.control.instances.list();
    const owner = { ...OWNER, process: ELSEWHERE, heartbeatAtMs: elsewhere.now() };
    const fork = runningFork({ id: "fk_far", number: 3, title: "far away", owner });
    await elsewhere.forks("/home/dev/app").put({ id: fork.id, value: fork, expected: "missing" });
    const { told, stop } = await runPlugin(elsewhere, { forkId: "fk_far", sessionId: "ses_1" });
    expect(JSON.parse((await carryover("undo", "--session", "ses_1", "--json")).said)).toMatchObject({
      where: "plugin",
    });
    expect((await carryover("forks")).said).toMatch(/#3 +far away +running for/);
    // A number means a fork of this home.
    expect(await carryover("forks", "cancel", "3")).toMatchObject({ code: 2 });
    expect(await carryover("forks", "cancel", "all")).toMatchObject({
      code: 2,
      said: expect.stringContaining("No fork runs"),
    });
    expect(await carryover("forks", "cancel", "fk_far")).toMatchObject({
      code: 0,
      said: "Fork fk_far is cancelled.\n",
    });
    expect(told).toMatchObject([{ id: "fk_far", type: "cancel-asked" }]);
    expect(await elsewhere.control.requests.list()).toMatchObject({ records: [] });
    await stop();
    expect(await elsewhere.control.instances.list()).toMatchObject({ records: [] });
  }, 60_000);

  it("lists forks of this home, and what runs elsewhere as long as it gives signs of life", async () => {
    const [here, elsewhere] = [pluginIn("here"), pluginIn("elsewhere")];
    await here.control.instances.list();
    const put = async (stores: PluginStores, id: string, heartbeatAtMs: number) => {
      const value = runningFork({ id, owner: { ...OWNER, process: ELSEWHERE, heartbeatAtMs } });
      await stores.forks(`/home/dev/${id}`).put({ id, value, expected: "missing" });
    };
    await put(here, "mine", 0);
    await put(elsewhere, "silent", 0);
    await put(elsewhere, "alive", here.now());
    const { store, forks } = JSON.parse((await carryover("forks", "--json")).said);
    expect(store).toBe("database");
    expect(forks).toMatchObject([
      { id: "mine", isLive: false, state: "interrupted (its program is gone)" },
      { id: "alive", isLive: true },
    ]);
  });

  it("shows a terminal nothing that somebody wrote into the database for it", async () => {
    const evil = "\u001b[2J\u202e";
    const stores = pluginIn("here");
    await edit(stores, "ses_1", [`b${evil}`, 1]);
    const { control } = stores;
    await control.instances.list();
    const owner = { ...OWNER, process: ELSEWHERE, heartbeatAtMs: control.now() };
    const fork = runningFork({ id: `fk${evil}`, title: `a ${evil}title`, owner });
    await stores.forks("/home/dev/app").put({ id: fork.id, value: fork, expected: "missing" });
    await control.instances.put({
      id: "instance-far",
      value: createLease({ instanceId: "far", process: ELSEWHERE }, control.now()),
      expected: "missing",
    });
    const answering = answerAll(stores, { outcome: "failed", text: `no ${evil}way` });
    const said = [await carryover("forks"), await carryover("undo"), await carryover("forks", "cancel", "1")];
    answering.stop();
    expect(said.map((each) => each.said)).toEqual([
      expect.stringContaining("a title"),
      expect.stringContaining("no way"),
      expect.stringContaining("no way"),
    ]);
    const shown = said.map((each) => each.said).join("");
    for (const mark of ["\u001b", "\u202e"]) expect(shown).not.toContain(mark);
  }, 60_000);

  it("says in a plugin's sign of life which logs it writes, and renews it", async () => {
    const stores = pluginIn("here");
    const { stop } = await runPlugin(stores, { forkId: "fk", sessionId: "ses_1" });
    expect(await stores.control.instances.list()).toMatchObject({ records: [{ value: { logs: [] } }] });
    await stores.journal("ses_1").append({ type: "request" });
    await expect
      .poll(() => stores.control.instances.list(), { timeout: 10_000 })
      .toMatchObject({ records: [{ value: { logs: ["ses_1"] } }] });
    await stop();
  });

  it("follows a log and the forks of its home from another home", async () => {
    const [here, elsewhere] = [pluginIn("here"), pluginIn("elsewhere")];
    await elsewhere.journal("ses_far").append({ type: "request", sessionId: "ses_far" });
    await expect.poll(() => seenFromHere(elsewhere), { timeout: 20_000 }).toEqual(["ses_far"]);
    const followed = here.follow("ses_far");
    expect(await followed.look()).toMatchObject({ journal: { entries: [{ value: { type: "request" } }] } });
    expect(await followed.look()).toBeUndefined();
    const fork = runningFork({ id: "fk_far", rootSessionId: "ses_far" });
    await elsewhere.forks("/home/dev/app").put({ id: fork.id, value: fork, expected: "missing" });
    await elsewhere.journal("ses_far").append({ type: "fork", sessionId: "ses_far" });
    expect(await followed.look()).toMatchObject({
      journal: { entries: [{}, { value: { type: "fork" } }] },
      forks: { records: [], elsewhere: [{ id: "fk_far" }], problems: [] },
    });
  });
});
