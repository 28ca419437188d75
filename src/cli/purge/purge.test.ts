import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parseChecked } from "../../../test/rig/check-json.ts";
import { completedFork, runningFork } from "../../../test/rig/forks/fork-samples.ts";
import { createLease, leaseRecordId } from "../../fork/life/lease.ts";
import type { ForkOwner } from "../../fork/life/record.ts";
import { createFileJournal } from "../../stores/files/journal.ts";
import { createFileOutputStore } from "../../stores/files/output-store.ts";
import { currentProcess, type ProcessIdentity } from "../../stores/files/process-identity.ts";
import { createFileRecordStore, GIVEN_VERSION_FILE } from "../../stores/files/record-store.ts";
import { runCli } from "../cli.ts";
import { handoffFolder, writeNote } from "../sessions/notes.ts";
import { purgeFolders, readFolderInventory } from "./folders.ts";
import { planPurge } from "./plan.ts";

const DAY_MS = 86_400_000;
const GONE: ProcessIdentity = { ...currentProcess(), pid: 2 ** 22 + 1 };

/** What a program leaves that is killed between two steps of a write. */
const UNFINISHED = [`.${GONE.pid}-${"0".repeat(16)}.tmp`, "some.lock"];

let home: string;
let store: string;
let stdout: string;
let stderr: string;

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "carryover-purge-")));
  store = join(home, "data", "carryover");
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_DATA_HOME", join(home, "data"));
  vi.stubEnv("XDG_STATE_HOME", join(home, "state"));
  vi.stubEnv("XDG_CACHE_HOME", join(home, "cache"));
  vi.stubEnv("XDG_CONFIG_HOME", join(home, "config"));
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

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const purge = (...args: readonly string[]): Promise<number> => runCli(["purge", ...args], "0.0.0");

/** Writes what the plugin writes of one root session: a log, an output, a fork and what that inherited. */
async function fill(rootSessionId: string, filling: Filling = {}) {
  const { owner, output = `output of ${rootSessionId}`, childSessionId } = filling;
  // A cleaning in the background would have its lock among the files that are counted.
  const how = { durable: false, cleaning: "never" } as const;
  const outputStore = createFileOutputStore({ root: join(store, "outputs"), ...how });
  const requestStore = createFileOutputStore({ root: join(store, "inherited"), ...how });
  const [outputs, view] = await Promise.all([
    outputStore.put(output),
    requestStore.put(`view of ${rootSessionId}`),
  ]);
  if (outputs.status === "failed" || view.status === "failed") throw new Error("not stored");
  const journal = createFileJournal({ root: join(store, "journal"), session: rootSessionId, durable: false });
  await journal.append({ type: "tool-output", handle: outputs.handle });
  await journal.append({ type: "other", text: `long ${rootSessionId} `.repeat(120_000) });
  const change = {
    id: `fork-${rootSessionId}`,
    rootSessionId,
    inherited: { mode: "full", reason: "r", chars: 1, messages: 1, snapshotId: view.handle } as const,
    ...(owner !== undefined && { owner }),
  };
  const ofChild = childSessionId === undefined ? {} : { childSessionId };
  const forks = createFileRecordStore({ root: join(store, "forks", "project"), durable: false });
  const value = owner === undefined ? completedFork(change) : runningFork(change);
  await forks.put({ id: change.id, value: { ...value, ...ofChild }, expected: "missing" });
}

interface Filling {
  readonly childSessionId?: string;
  readonly owner?: ForkOwner;
  readonly output?: string;
}

async function lease(instanceId: string, process: ProcessIdentity): Promise<ForkOwner> {
  const instances = createFileRecordStore({ root: join(store, "control", "instances"), durable: false });
  const value = createLease({ instanceId, process }, Date.now());
  await instances.put({ id: leaseRecordId(instanceId), value, expected: "missing" });
  return { instanceId, process, heartbeatAtMs: value.heartbeatAtMs };
}

/** Without what a store of records remembers while it has any: one number. */
function filesBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== GIVEN_VERSION_FILE)
    .map(({ parentPath, name }) => join(parentPath, name));
}

function age(days: number): void {
  const atS = (Date.now() - days * DAY_MS) / 1000;
  for (const file of filesBelow(store)) utimesSync(file, atS, atS);
}

describe("carryover purge", () => {
  it("lists what is kept and deletes nothing when nothing is named", async () => {
    await fill("ses_a");
    const before = filesBelow(store);
    expect(await purge()).toBe(0);
    expect(stdout).toMatch(/ses_a .* 1 fork/);
    expect(stdout).toMatch(/whole outputs .* 1 file/);
    expect(stdout).toContain("Nothing was deleted");
    expect(filesBelow(store)).toEqual(before);
  });

  it("deletes one session with its outputs, views and forks, and no other's", async () => {
    await fill("ses_a", { output: "both said this" });
    await fill("ses_b", { output: "both said this" });
    await fill("ses_c");
    const before = filesBelow(store).length;
    expect(await purge("--session", "ses_a", "--yes")).toBe(0);
    expect(stdout).toContain("Deleted 4 files");
    expect(filesBelow(store).filter((path) => path.includes("ses_a"))).toEqual([]);
    // The output that ses_b has too stays: log, long entry, view and the two copies of a record do not.
    expect(filesBelow(store).length).toBe(before - 4);
    expect(filesBelow(join(store, "outputs"))).toHaveLength(2);
  });

  it("deletes the sessions of forks in pi with the session that forked, and what nobody knows with everything", async () => {
    const ids = ["a", "b", "c"].map((letter) => `${letter.repeat(8)}-1111-4222-8333-444444444444`);
    const children = join(store, "pi-sessions");
    mkdirSync(children, { recursive: true });
    for (const [index, id] of ids.entries()) {
      if (index < 2) await fill(`ses_${index}`, { childSessionId: id });
      writeFileSync(join(children, `${id}.jsonl`), "{}");
    }
    writeFileSync(join(children, "notes.jsonl"), "of somebody else");
    expect(await purge("--session", "ses_0", "--yes")).toBe(0);
    expect(readdirSync(children)).toEqual([`${ids[1]}.jsonl`, `${ids[2]}.jsonl`, "notes.jsonl"]);
    expect(await purge("--all", "--yes")).toBe(0);
    expect(readdirSync(children)).toEqual(["notes.jsonl"]);
  });

  it("takes either id of a session that was written for OpenCode, or the beginning of one", async () => {
    const folder = handoffFolder(process.env);
    mkdirSync(folder, { recursive: true });
    const write = async (id: string, sessionId: string) => {
      const path = join(folder, `${id}.json`);
      writeFileSync(path, "{}");
      await writeNote(folder, { id, path, sizeBytes: 2, sessionId, messages: 1 });
    };
    await write("0c3182b1-f294-4a9e", "ses_one12345");
    await write("0c3182b1-aaaa-4a9e", "ses_two12345");
    expect(await purge("--session", "0c3182b1", "--yes")).not.toBe(0);
    expect(stderr).toContain("is the beginning of 2 session ids");
    expect(await purge("--session", "0c3182b1-f294-4a9e", "--yes")).toBe(0);
    expect(stdout).toContain("opencode session delete ses_one12345");
    expect(await purge("--session", "ses_two1", "--yes")).toBe(0);
    expect(filesBelow(folder)).toEqual([]);
  });

  it("finds a session whose name is not fit for a file", async () => {
    await fill("../../etc/passwd");
    expect(await purge("--session", "../../etc/passwd", "--yes")).toBe(0);
    expect(filesBelow(store)).toEqual([]);
  });

  it("deletes everything, empty folders too", async () => {
    await fill("ses_a");
    writeFileSync(join(store, "forks", "project", "broken.json.corrupt-1"), "damaged");
    writeFileSync(join(store, "loaded.json"), "{}");
    for (const log of ["plugin.log", "plugin.log.old", `notices-${"a".repeat(16)}.jsonl`])
      writeFileSync(join(store, log), "Fork 1 (a title)");
    for (const name of ["modes", "output", "00000001-aaaa-4bbb-8ccc-dddddddddddd"]) {
      mkdirSync(join(store, "waiting", name), { recursive: true });
      if (name !== "modes") writeFileSync(join(store, "waiting", name, "fk_1"), "what a child printed");
    }
    const measured = join(home, "cache", "carryover", "eval");
    mkdirSync(join(measured, "suite", `${"b".repeat(16)}.git`, "objects"), { recursive: true });
    for (const name of [`${"a".repeat(64)}.json`, join("suite", `${"c".repeat(64)}.session`)])
      writeFileSync(join(measured, name), "{}");
    await createFileOutputStore({ durable: false, cleaning: "never" }).put("an output of the library");
    expect(await purge("--all", "--yes")).toBe(0);
    expect(stderr).toBe("");
    expect(readdirSync(home, { recursive: true }).toSorted()).toEqual(["cache", "data", "state"]);
  });

  it("removes folders in which nothing is, as a program leaves them that was killed before it wrote", async () => {
    const shards = ["outputs/0a", "inherited/ff", "journal/long/10"].map((name) => join(store, name));
    for (const folder of [...shards, join(home, "state", "carryover", "outputs", "77")])
      mkdirSync(folder, { recursive: true });
    expect(await purge()).toBe(0);
    expect(stdout).not.toContain("Nothing was deleted");
    expect(await purge("--all")).toBe(0);
    expect(readdirSync(home, { recursive: true }).toSorted()).toEqual(["data", "state"]);
  });

  it("removes what builds before 0.1.0 kept under other names", async () => {
    const name = "a".repeat(64);
    const kept = [
      join(store, "spill", "aa"),
      join(store, "views", "aa"),
      join(home, "state/carryover/spill/aa"),
    ];
    for (const folder of kept) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, name), "private");
    }
    expect(await purge("--all", "--yes")).toBe(0);
    expect(readdirSync(home, { recursive: true }).toSorted()).toEqual(["data", "state"]);
  });

  it("leaves a folder that somebody has chosen, and in it nothing of ours", async () => {
    await fill("ses_a");
    const chosen = join(home, "chosen");
    renameSync(store, chosen);
    mkdirSync(join(chosen, "theirs"));
    expect(await purge("--all", "--yes", "--store", chosen)).toBe(0);
    expect(readdirSync(chosen)).toEqual(["theirs"]);
  });

  it("deletes by age", async () => {
    await fill("ses_old");
    age(40);
    await fill("ses_new");
    const young = filesBelow(store).filter((path) => Date.now() - statSync(path).mtimeMs < DAY_MS);
    expect(await purge("--older-than", "30d", "--yes")).toBe(0);
    expect(filesBelow(store).toSorted()).toEqual(young.toSorted());
    expect(await purge("--older-than", "soon", "--yes")).toBe(2);
  });

  it("leaves what a running program works with, unless it is forced", async () => {
    const owner = await lease("i1", currentProcess());
    await fill("ses_busy", { owner });
    const before = filesBelow(store);
    expect(await purge("--all", "--yes")).toBe(0);
    expect(stdout).toMatch(/left alone\n {2}ses_busy {2}(?:fork 1 runs|process \d+ writes its log)/);
    expect(stdout).toMatch(/End the agent .*`opencode2 service stop`.* or wait for its forks/);
    expect(filesBelow(store)).toEqual(before);
    expect(await purge("--all", "--yes", "--force")).toBe(0);
    expect(filesBelow(store).filter((path) => path.includes("ses_busy"))).toEqual([]);
    expect(filesBelow(join(store, "control"))).toHaveLength(1);
  });

  it("leaves a session whose log a running program writes, though none of its forks runs", async () => {
    await lease("i2", currentProcess());
    await fill("ses_open");
    const before = filesBelow(store);
    expect(await purge("--session", "ses_open", "--yes")).toBe(0);
    expect(stdout).toContain(`process ${process.pid} writes its log`);
    expect(filesBelow(store)).toEqual(before);
  });

  it("leaves a session of which a fork runs, though its log is not being written", async () => {
    await fill("ses_forking", { owner: { instanceId: "i1", process: currentProcess(), heartbeatAtMs: 0 } });
    const before = filesBelow(store);
    expect(await purge("--session", "ses_forking", "--yes")).toBe(0);
    expect(stdout).toContain("fork 1 runs");
    expect(filesBelow(store)).toEqual(before);
  });

  it("takes what a program that is gone has left", async () => {
    const owner = await lease("i1", GONE);
    await fill("ses_left", { owner });
    expect(await purge("--all", "--yes")).toBe(0);
    expect(filesBelow(store)).toEqual([]);
  });

  it("takes what a program was writing when it was killed, in any of its stores", async () => {
    for (const running of ["no", "yes"]) {
      await fill("ses_killed");
      const folders = [
        ...[join("forks", "project"), "journal", join("journal", "long"), "outputs", "inherited"],
        ...["instances", "requests"].map((name) => join("control", name)),
      ].map((name) => join(store, name));
      for (const folder of folders) {
        mkdirSync(folder, { recursive: true });
        for (const name of UNFINISHED) writeFileSync(join(folder, name), JSON.stringify(GONE));
      }
      if (running === "yes") await lease("i1", currentProcess());
      expect(await purge("--all", "--yes")).toBe(0);
      const left = filesBelow(store).filter((path) => UNFINISHED.includes(basename(path)));
      expect(left.map((path) => basename(path))).toEqual(
        running === "no" ? [] : folders.flatMap(() => UNFINISHED),
      );
      if (running === "no") expect(existsSync(store)).toBe(false);
    }
  });

  it("touches neither foreign files nor what a link leads to", async () => {
    await fill("ses_a");
    const outside = join(home, "outside");
    mkdirSync(outside);
    const precious = ["1-2-3.jsonl", `${"b".repeat(64)}`, "notes.txt"].map((name) => join(outside, name));
    for (const path of precious) writeFileSync(path, "precious");
    symlinkSync(outside, join(store, "forks", "linked"));
    symlinkSync(outside, join(store, "outputs", "bb"));
    symlinkSync(precious[0] ?? "", join(store, "journal", "ses_a.1-2-3.jsonl"));
    writeFileSync(join(store, "journal", "diary.txt"), "mine");
    writeFileSync(join(store, "notes.txt"), "mine");
    expect(await purge("--all", "--yes")).toBe(0);
    expect(precious.map(existsSync)).toEqual([true, true, true]);
    expect(filesBelow(store).toSorted()).toEqual([
      join(store, "journal", "diary.txt"),
      join(store, "notes.txt"),
    ]);
  });

  it("enters none of its own folders that is a link", async () => {
    await fill("ses_a");
    const before = filesBelow(store).length;
    for (const name of ["journal", "outputs", "inherited", "forks"]) {
      renameSync(join(store, name), join(home, name));
      symlinkSync(join(home, name), join(store, name));
    }
    expect(await purge("--all", "--yes")).toBe(0);
    expect(filesBelow(home)).toHaveLength(before);
    rmSync(store, { recursive: true });
    symlinkSync(home, store);
    expect(await purge("--all", "--yes")).toBe(0);
    expect(stderr).toContain("is a link");
    expect(filesBelow(home).filter((path) => !path.startsWith(store))).toHaveLength(before);
  });

  it("changes nothing in a named folder that is none of ours", async () => {
    const folder = join(home, "elsewhere");
    for (const name of ["journal", "forks/website"]) {
      mkdirSync(join(folder, name), { recursive: true, mode: 0o755 });
      writeFileSync(join(folder, name, "index.html"), "dear diary");
    }
    const look = () =>
      readdirSync(folder, { recursive: true }).map((name) => [
        name,
        statSync(join(folder, String(name))).mode,
      ]);
    const before = look();
    expect(await purge("--all", "--yes", "--store", folder)).toBe(0);
    expect(look()).toEqual(before);
  });

  it("deletes nothing in a dry run, for two wishes at once, or when nobody can be asked", async () => {
    await fill("ses_a");
    const before = filesBelow(store);
    expect(await purge("--all", "--dry-run")).toBe(0);
    expect(await purge("--all", "--session", "ses_a", "--yes")).toBe(2);
    expect(await purge("--all", "--json")).toBe(2);
    expect(await purge("--session", "ses_none", "--yes")).toBe(2);
    expect(filesBelow(store)).toEqual(before);
  });

  it("touches no file where a database is named that does not answer, and never shows its password", async () => {
    await fill("ses_a");
    const before = filesBelow(store);
    const plugin = [["carryover", { store: "postgres://me:hunter2@127.0.0.1:1/carryover" }]];
    vi.stubEnv("OPENCODE_CONFIG_CONTENT", JSON.stringify({ plugin }));
    expect(await purge("--all", "--yes")).toBe(3);
    expect(stderr).toContain("database");
    expect(stdout + stderr).not.toContain("hunter2");
    expect(filesBelow(store)).toEqual(before);
  });

  it("prints for a program what it deleted", async () => {
    await fill("ses_a");
    expect(await purge("--all", "--yes", "--json")).toBe(0);
    expect(parseChecked("purge", stdout)).toMatchObject({
      status: "purged",
      files: 5,
      sessions: [{ id: "ses_a" }],
      inUse: [],
    });
  });

  it("stops between two files, and finishes when it is asked again", async () => {
    for (const name of ["ses_a", "ses_b"]) await fill(name);
    const folders = { root: store, ...foldersOf(store) };
    const request = { folders, places: "named", nowMs: Date.now() } as const;
    const plan = planPurge(await readFolderInventory(request), {
      filter: { type: "all" },
      force: "never",
      nowMs: Date.now(),
    });
    const stopping = new AbortController();
    const stopped = purgeFolders(plan, {
      folders,
      places: "named",
      isQuiet: true,
      signal: stopping.signal,
    });
    stopping.abort();
    expect(await stopped).toMatchObject({ status: "stopped", problems: [] });
    expect(filesBelow(join(store, "journal")).filter((path) => path.endsWith(".jsonl"))).toHaveLength(2);
    expect(await purge("--all", "--yes")).toBe(0);
    expect(filesBelow(store)).toEqual([]);
  });
});

function foldersOf(root: string) {
  const names = ["forks", "inherited", "journal", "outputs", "control"] as const;
  return Object.fromEntries(names.map((name) => [name, join(root, name)])) as Record<
    (typeof names)[number],
    string
  >;
}
