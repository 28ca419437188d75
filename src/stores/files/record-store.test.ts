import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createFileRecordStore, GIVEN_VERSION_FILE } from "./record-store.ts";

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "carryover-records-")));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (fs: FileSystem = nodeFileSystem): RecordStore =>
  createFileRecordStore({ root, fs, durable: false });
const files = (): readonly string[] => readdirSync(root).toSorted();
const setAside = (): readonly string[] => files().filter((file) => file.includes(".corrupt-"));

async function put(id: string, value: unknown): Promise<number> {
  const read = await open().get(id);
  const expected =
    read.status === "found" ? read.version : read.status === "failed" ? "missing" : read.status;
  const outcome = await open().put({ id, value, expected });
  if (outcome.status !== "stored") throw new Error(JSON.stringify(outcome));
  return outcome.version;
}

const damages: Readonly<Record<string, (path: string) => void>> = {
  "cut short": (path) => writeFileSync(path, readFileSync(path).subarray(0, -5)),
  emptied: (path) => writeFileSync(path, ""),
  "filled with NUL": (path) => writeFileSync(path, Buffer.alloc(readFileSync(path).byteLength)),
  "changed in one place": (path) => writeFileSync(path, readFileSync(path, "utf8").replace("newer", "nexer")),
  "written by someone else": (path) => writeFileSync(path, '{"tasks":{}}\n'),
};

describe.each(Object.entries(damages))("a record that was %s", (_name, damage) => {
  it("is set aside, and the copy before it is given as recovered until the next put", async () => {
    const older = await put("a", "older");
    await put("a", "newer");
    damage(join(root, "a.json"));
    const damaged = readFileSync(join(root, "a.json"));
    const recovered = { status: "found", id: "a", version: older, value: "older", recovered: true };
    expect(await open().get("a")).toEqual(recovered);
    expect(await open().get("a")).toEqual(recovered);
    expect(await open().list()).toEqual({ status: "listed", records: [recovered], problems: [] });
    expect(setAside()).toHaveLength(1);
    expect(readFileSync(join(root, setAside()[0] ?? "")).equals(damaged)).toBe(true);
    const version = await put("a", "newest");
    expect(version).toBeGreaterThan(older + 1);
    expect(await open().get("a")).toEqual({ status: "found", id: "a", version, value: "newest" });
  });

  it("is corrupt, never missing, when there is no whole copy", async () => {
    await put("a", "newer");
    damage(join(root, "a.json"));
    for (let look = 0; look < 3; look += 1)
      expect(await open().get("a")).toMatchObject({ status: "corrupt" });
    expect(await open().list()).toMatchObject({ records: [], problems: [{ id: "a", code: "CORRUPT" }] });
    const conflict = { status: "conflict", actual: "corrupt" };
    expect(await open().put({ id: "a", value: "blind", expected: "missing" })).toEqual(conflict);
    expect(await open().delete("a", "missing")).toEqual(conflict);
    expect(setAside()).toHaveLength(1);
  });
});

it("does not list the folder to make, read and remove records", async () => {
  let listings = 0;
  const readdir: FileSystem["readdir"] = (path) => {
    listings += 1;
    return nodeFileSystem.readdir(path);
  };
  const store = open({ ...nodeFileSystem, readdir });
  for (let index = 0; index < 20; index += 1) {
    const stored = await store.put({ id: `r${index}`, value: index, expected: "missing" });
    expect(await store.get(`r${index}x`)).toEqual({ status: "missing" });
    if (stored.status === "stored" && index % 4 === 0) await store.delete(`r${index}`, stored.version);
  }
  expect(listings).toBe(0);
});

describe("a clock that was set back", () => {
  /** A store as another program has it, which knows nothing of what this one has given. */
  async function openElsewhere(now: () => number): Promise<RecordStore> {
    vi.resetModules();
    const { createFileRecordStore: create } = await import("./record-store.ts");
    return create({ root, durable: false, now });
  }

  it("gives no version again that a deleted record had", async () => {
    const before = await openElsewhere(() => 2_000_000);
    const first = await before.put({ id: "a", value: 1, expected: "missing" });
    if (first.status !== "stored") throw new Error(first.status);
    await before.delete("a", first.version);
    const after = await openElsewhere(() => 1_999_000);
    for (const id of ["a", "b"]) {
      const stored = await after.put({ id, value: 2, expected: "missing" });
      expect(stored.status === "stored" && stored.version).toBeGreaterThan(first.version);
    }
  });

  it.each(Object.keys(damages))("gives no version again of a copy that was %s", async (damage) => {
    for (const isTheOnlyOne of [true, false]) {
      const id = `${isTheOnlyOne}`;
      const before = await openElsewhere(Date.now);
      if (!isTheOnlyOne) await before.put({ id, value: "older", expected: "missing" });
      const older = await before.get(id);
      const expected = older.status === "found" ? older.version : "missing";
      const stored = await before.put({ id, value: "newer", expected });
      damages[damage]?.(join(root, `${id}.json`));
      const after = await openElsewhere(() => Date.now() - 3_600_000);
      const left = await after.get(id);
      const again = await after.put({
        id,
        value: 3,
        expected: left.status === "found" ? left.version : "corrupt",
      });
      expect(again.status === "stored" && again.version).toBeGreaterThan(
        stored.status === "stored" ? stored.version : Number.NaN,
      );
    }
  });
});

describe("a corrupt record", () => {
  it("can be replaced by someone who knows, and keeps the damaged copy", async () => {
    await put("a", "lost");
    writeFileSync(join(root, "a.json"), "x");
    expect(await open().put({ id: "a", value: "rebuilt", expected: "corrupt" })).toMatchObject({
      status: "stored",
    });
    expect(await open().get("a")).toMatchObject({ status: "found", value: "rebuilt" });
    expect(setAside()).toHaveLength(1);
  });

  it("is missing once it is deleted, with nothing left of it", async () => {
    await put("a", "lost");
    writeFileSync(join(root, "a.json"), "x");
    expect(await open().delete("a", "corrupt")).toEqual({ status: "deleted" });
    expect(await open().get("a")).toEqual({ status: "missing" });
    expect(files()).toEqual([GIVEN_VERSION_FILE]);
  });

  it("leaves at most three damaged copies, the newest ones", async () => {
    for (let round = 0; round < 6; round += 1) {
      await put("a", round);
      writeFileSync(join(root, "a.json"), `damage ${round}`);
      await open().get("a");
    }
    expect(setAside().map((file) => readFileSync(join(root, file), "utf8"))).toEqual([
      "damage 3",
      "damage 4",
      "damage 5",
    ]);
  });

  it("does not hide the others from a list", async () => {
    await put("a", 1);
    await put("b", 2);
    await put("strange id", 3);
    writeFileSync(join(root, "b.json"), "x");
    const hashed = files().find((file) => file.startsWith("@")) ?? "";
    writeFileSync(join(root, hashed), "x");
    const list = await open().list();
    expect(list).toMatchObject({ records: [{ id: "a" }] });
    expect(list.status === "listed" && list.problems.map((problem) => problem.id)).toEqual(
      expect.arrayContaining(["b", undefined]),
    );
  });

  it("is still told when nothing can be set aside", async () => {
    await put("a", 1);
    await put("a", 2);
    writeFileSync(join(root, "a.json"), "x");
    const refuse = (): never => {
      throw Object.assign(new Error("read-only"), { code: "EROFS" });
    };
    const readOnly = { ...nodeFileSystem, rename: refuse, link: refuse, unlink: refuse };
    expect(await open(readOnly).get("a")).toMatchObject({ status: "found", value: 1, recovered: true });
    expect(await open(readOnly).put({ id: "a", value: 3, expected: 1 })).toMatchObject({ code: "EROFS" });
  });
});

describe("a record file", () => {
  it("that cannot be read just now is a failure, and is not set aside", async () => {
    await put("a", 1);
    const read = (): never => {
      throw Object.assign(new Error("disk"), { code: "EIO" });
    };
    expect(await open({ ...nodeFileSystem, read }).get("a")).toMatchObject({ status: "failed", code: "EIO" });
    expect(await open().get("a")).toMatchObject({ status: "found", value: 1 });
  });

  it("under another record's name is told apart", async () => {
    await put("a", 1);
    copyFileSync(join(root, "a.json"), join(root, "b.json"));
    expect(await open().get("b")).toMatchObject({ status: "failed", code: "ID_COLLISION" });
    expect(await open().put({ id: "b", value: 2, expected: 1 })).toMatchObject({ code: "ID_COLLISION" });
  });

  it("is written aside, brought to the disk, renamed, and then its folder is brought to the disk", async () => {
    await put("a", 1);
    const calls: string[] = [];
    const paths = new Map<number, string>();
    const short = (path: string): string => path.replace(root, "").replace(/\.[0-9]+-[0-9a-f]{16}/, "");
    const traced: FileSystem = {
      ...nodeFileSystem,
      open(path, purpose) {
        const fd = nodeFileSystem.open(path, purpose);
        paths.set(fd, short(path));
        return fd;
      },
      write(fd, bytes) {
        calls.push(`write ${paths.get(fd)}`);
        return nodeFileSystem.write(fd, bytes);
      },
      async fsync(fd) {
        calls.push(`fsync ${paths.get(fd)}`);
      },
      rename(from, to) {
        calls.push(`rename ${short(from)} ${short(to)}`);
        nodeFileSystem.rename(from, to);
      },
    };
    const store = createFileRecordStore({ root, fs: traced });
    const read = await store.get("a");
    calls.length = 0;
    await store.put({ id: "a", value: 2, expected: read.status === "found" ? read.version : "missing" });
    // The first write is the lock's.
    expect(calls.slice(1)).toEqual(["write /.tmp", "fsync /.tmp", "rename /.tmp /a.json", "fsync "]);
  });

  it("goes after the copy before it, and not in the same moment: that one must not come back alone", async () => {
    await put("a", 1);
    const version = await put("a", 2);
    const calls: string[] = [];
    const traced: FileSystem = {
      ...nodeFileSystem,
      async fsync() {
        calls.push("fsync");
      },
      unlink(path) {
        if (path.includes(".json")) calls.push(`unlink ${path.replace(root, "")}`);
        nodeFileSystem.unlink(path);
      },
    };
    await createFileRecordStore({ root, fs: traced }).delete("a", version);
    const from = calls.indexOf("unlink /a.json.bak");
    expect(calls.slice(from)).toEqual(["unlink /a.json.bak", "fsync", "unlink /a.json", "fsync"]);
  });

  it("is not written by a process that slept until another took its lock", async () => {
    const version = await put("a", 1);
    const sleepy: FileSystem = {
      ...nodeFileSystem,
      async fsync() {
        writeFileSync(join(root, "a.lock"), "taken over");
      },
    };
    const store = createFileRecordStore({ root, fs: sleepy });
    expect(await store.put({ id: "a", value: 2, expected: version })).toMatchObject({ code: "LOCKED" });
    expect(await open().get("a")).toMatchObject({ value: 1 });
  });
});

it("removes unfinished files after an hour, at the start", async () => {
  const names = ["0", "1"].map((digit) => join(root, `.7-${digit.repeat(16)}.tmp`));
  for (const name of names) writeFileSync(name, "x");
  utimesSync(names[0] ?? "", Date.now() / 1000 - 3_601, Date.now() / 1000 - 3_601);
  await open().list();
  expect(files()).toEqual([`.7-${"1".repeat(16)}.tmp`]);
});
