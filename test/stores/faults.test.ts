import { chmodSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RecordStore } from "../../src/fork/life/record-store.ts";
import { cleanOutputs } from "../../src/stores/files/clean-outputs.ts";
import { type FileSystem, nodeFileSystem } from "../../src/stores/files/file-system.ts";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { createFaultyFileSystem } from "./faulty-file-system.ts";
import { temporariesBelow } from "./kill-checks.ts";
import { quickFolder } from "./temporary-folder.ts";

const codes = ["ENOSPC", "EACCES", "EROFS", "EMFILE", "EDQUOT", "EIO"];

/** Runs a whole life of a store in which one call fails; must end as if none had. */
type Scenario = (world: World) => Promise<void>;

interface World {
  readonly root: string;
  readonly fs: FileSystem;
  readonly code: string;
  readonly failed: readonly string[];
}

const scenarios: Readonly<Record<string, Scenario>> = { records, damagedRecord, journal, output, cleaning };

describe.each(Object.keys(scenarios))("%s", (name) => {
  it.each(codes)(
    "gives a value with the code when any one call fails with %s, and nothing is spoilt",
    async (code) => {
      const failedCalls: string[] = [];
      for (let nth = 1; ; nth += 1) {
        const root = join(quickFolder(), "store");
        const faulty = createFaultyFileSystem({ code, fails: (count) => count === nth });
        await scenarios[name]?.({ root, code, ...faulty });
        rmSync(root, { recursive: true });
        if (faulty.failed.length === 0) break;
        failedCalls.push(...faulty.failed);
      }
      expect(failedCalls.length).toBeGreaterThan(12);
      expect(failedCalls).toEqual(expect.arrayContaining(callsOf[name]?.split(" ") ?? []));
    },
  );
});

it("gives values when everything fails from any call on", async () => {
  for (let nth = 1; nth < 120; nth += 1) {
    const root = quickFolder();
    const { fs } = createFaultyFileSystem({ code: "EIO", fails: (count) => count >= nth });
    const value = { some: "value" };
    const store = createFileRecordStore({ root, fs });
    for (const outcome of [
      await store.put({ id: "a", value, expected: "missing" }),
      await store.get("a"),
      await store.list(),
      await store.delete("a", 1),
      await createFileJournal({ root, session: "s", fs }).append(value),
      await createFileJournal({ root, session: "s", fs }).read(),
      await createFileOutputStore({ root, fs }).put("text"),
      await cleanOutputs({ root, fs }),
    ]) {
      expect(outcome).toBeTypeOf("object");
    }
  }
});

it("writes everything when the system takes a few bytes at a time, and gives a value when it takes none", async () => {
  const slow = {
    ...nodeFileSystem,
    write: (fd: number, bytes: Uint8Array) => nodeFileSystem.write(fd, bytes.subarray(0, 7)),
  };
  for (const scenario of [records, journal, output]) {
    await scenario({ root: join(quickFolder(), "store"), fs: slow, code: "none", failed: [] });
  }
  const stuck = { ...nodeFileSystem, write: () => 0 };
  const outcome = await createFileOutputStore({ root: quickFolder(), fs: stuck }).put("text");
  expect(outcome).toMatchObject({ status: "failed", code: "EIO" });
});

// At least these must have been made to fail, or the scenario tests less than it seems to.
const always = "open read write fstat fsync close lstat realpath readdir mkdir";
const callsOf: Readonly<Record<string, string>> = {
  records: `${always} link rename unlink`,
  damagedRecord: "read rename link unlink chmod",
  journal: always,
  output: `${always} rename touch`,
  cleaning: "open write close lstat realpath readdir link rename unlink remove",
};

async function records({ root, fs, code, failed }: World): Promise<void> {
  const store = createFileRecordStore({ root, fs });
  await putUntilStored({ store, id: "a", value: 1, code });
  await putUntilStored({ store, id: "a", value: 2, code });
  await putUntilStored({ store, id: "b", value: 1, code });
  await putUntilStored({ store, id: "b", value: 2, code });
  const read = await untilNotFailed(code, () => store.get("a"));
  expect(read).toMatchObject({ status: "found", value: 2 });
  const list = await untilNotFailed(code, () => store.list());
  expect(list.status === "listed" && list.problems.filter((problem) => problem.code !== code)).toEqual([]);
  for (;;) {
    const present = await untilNotFailed(code, () => store.get("b"));
    if (present.status === "missing") break;
    expect(present).toMatchObject({ status: "found", value: 2 });
    if (present.status === "found") await untilNotFailed(code, () => store.delete("b", present.version));
  }
  const clean = createFileRecordStore({ root });
  expect(await clean.list()).toMatchObject({ records: [{ id: "a", value: 2 }], problems: [] });
  expect(readdirSync(root).filter((file) => file.includes(".lock"))).toEqual([]);
  if (!failed.includes("unlink")) expect(temporariesBelow(root)).toEqual([]);
}

async function damagedRecord({ root, fs, code }: World): Promise<void> {
  const before = createFileRecordStore({ root, durable: false });
  await putUntilStored({ store: before, id: "a", value: 1, code });
  await putUntilStored({ store: before, id: "a", value: 2, code });
  writeFileSync(join(root, "a.json"), "half a rec");
  chmodSync(root, 0o755);
  const store = createFileRecordStore({ root, fs });
  const read = await untilNotFailed(code, () => store.get("a"));
  expect(read).toMatchObject({ status: "found", value: 1, recovered: true });
  await putUntilStored({ store, id: "a", value: 3, code });
  expect(await createFileRecordStore({ root }).get("a")).toMatchObject({ status: "found", value: 3 });
}

async function journal({ root, fs, code }: World): Promise<void> {
  const log = createFileJournal({ root, session: "s", fs });
  const appended: unknown[] = [];
  const values = ["first", "second", longFor(code), "last"];
  for (const value of values) {
    for (;;) {
      const outcome = await log.append(value);
      appended.push(value);
      if (outcome.status === "appended") break;
      expect(outcome.code).toBe(code);
    }
  }
  const own = await log.read();
  for (const problem of own.problems) expect([code, "TORN", "LONG_VALUE"]).toContain(problem.code);
  const { entries, problems } = await createFileJournal({ root, session: "s" }).read();
  expect(problems.filter((problem) => problem.type !== "torn-tail")).toEqual([]);
  const read = entries.map((entry) => entry.value);
  // An append that failed may be there all the same; none that succeeded is missing, and the order holds.
  expect(read.filter((value, index) => value !== read[index - 1])).toEqual(values);
  expect(read.length).toBeLessThanOrEqual(appended.length);
}

async function output({ root, fs, code, failed }: World): Promise<void> {
  const store = createFileOutputStore({ root, fs, cleaning: "never" });
  for (const content of ["again", longFor(code), "again"]) {
    let outcome = await store.put(content);
    if (outcome.status === "failed") {
      expect(outcome.code).toBe(code);
      outcome = await store.put(content);
    }
    expect(outcome.status).toBe("stored");
    if (outcome.status !== "stored") continue;
    const read = await store.get(outcome.handle);
    // Never undefined: what cannot be read now is there all the same.
    if (typeof read === "object") expect(read).toMatchObject({ status: "failed", code });
    expect((typeof read === "object" ? await store.get(outcome.handle) : read) === content).toBe(true);
  }
  if (!failed.includes("unlink")) expect(temporariesBelow(root)).toEqual([]);
}

async function cleaning({ root, fs, code }: World): Promise<void> {
  const store = createFileOutputStore({ root, cleaning: "never", durable: false });
  const handles: string[] = [];
  for (const text of ["old", "old too", "live", "young"]) {
    const outcome = await store.put(text);
    if (outcome.status !== "stored" || outcome.path === undefined) throw new Error("no output");
    handles.push(outcome.handle);
    if (text !== "young") utimesSync(outcome.path, 1, 1);
  }
  const [old = "", , live = ""] = handles;
  // As a cleaning that died would leave it.
  const shard = join(root, old.slice(0, 2));
  nodeFileSystem.rename(join(shard, old), join(shard, `${old}.doomed`));
  mkdirSync(join(root, "zz"));
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const report = await cleanOutputs({ root, fs, live: () => new Set([live]) });
    if (report.status === "failed") expect(report.code).toBe(code);
    else for (const problem of report.problems) expect(problem.code).toBe(code);
    expect(await store.get(live)).toBe("live");
    nodeFileSystem.touch(join(root, live.slice(0, 2), live), 1_000);
  }
  const left = await Promise.all(handles.map((handle) => store.get(handle)));
  expect(left).toEqual([undefined, undefined, "live", "young"]);
  expect(readdirSync(root)).not.toContain("clean.lock");
}

// More than a piece and more than a line; once is enough, since it is slow and the code makes no difference.
function longFor(code: string): string {
  return code === "EIO" ? "long ✓ ".repeat(140_000) : "short";
}

async function putUntilStored({ store, id, value, code }: Put): Promise<void> {
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const read = await untilNotFailed(code, () => store.get(id));
    if (read.status === "found" && read.value === value) return;
    if (read.status === "corrupt" || read.status === "failed") expect.fail(JSON.stringify(read));
    const outcome = await store.put({
      id,
      value,
      expected: read.status === "found" ? read.version : "missing",
    });
    if (outcome.status === "failed") expect(outcome.code).toBe(code);
    else expect(outcome.status).toBe("stored");
  }
  expect.fail("never stored");
}

interface Put {
  readonly store: RecordStore;
  readonly id: string;
  readonly value: unknown;
  readonly code: string;
}

async function untilNotFailed<Outcome extends { readonly status: string }>(
  code: string,
  act: () => Promise<Outcome>,
): Promise<Outcome> {
  const outcome = await act();
  if (outcome.status !== "failed") return outcome;
  expect(outcome).toMatchObject({ code });
  return act();
}
