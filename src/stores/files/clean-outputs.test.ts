import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OutputStore } from "../../tool-output/output-store.ts";
import { type CleanOutputsSettings, cleanOutputs } from "./clean-outputs.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createFileOutputStore } from "./output-store.ts";
import { currentProcess } from "./process-identity.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let folder: string;
let root: string;
let store: OutputStore;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "carryover-clean-")));
  root = join(folder, "outputs");
  store = createFileOutputStore({ root, cleaning: "never", durable: false });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const clean = (options: Partial<CleanOutputsSettings> = {}) => cleanOutputs({ root, ...options });

/** Puts a text that was last used so long ago. */
async function putAged(
  text: string,
  ageMs: number,
): Promise<{ readonly handle: string; readonly path: string }> {
  const stored = await store.put(text);
  if (stored.status === "failed" || stored.path === undefined) throw new Error("not stored");
  nodeFileSystem.touch(stored.path, Date.now() - ageMs);
  return { handle: stored.handle, path: stored.path };
}

function textsLeft(): readonly string[] {
  const shards = readdirSync(root).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return shards.flatMap((shard) => readdirSync(join(root, shard)));
}

describe("a clock that was set back", () => {
  it("does not save files that are dated ahead from the cap", async () => {
    for (let index = 0; index < 12; index++) await putAged(`ahead ${index}`, -30 * DAY_MS);
    expect(await clean({ maxFiles: 5 })).toMatchObject({ removedFiles: 7, keptFiles: 5 });
    await putAged("just now", -100);
    expect(await clean({ maxFiles: 0 })).toMatchObject({ removedFiles: 5, keptFiles: 1 });
  });

  it("lets files that are dated ahead grow old like all others", async () => {
    const ahead = await putAged("ahead", -300 * DAY_MS);
    expect(await clean()).toMatchObject({ keptFiles: 1 });
    expect(await clean({ now: () => Date.now() + 8 * DAY_MS })).toMatchObject({ removedFiles: 1 });
    expect(await store.get(ahead.handle)).toBeUndefined();
  });

  it("does not keep the lock of a cleaning for ever whose program nobody knows", async () => {
    await putAged("old", 100 * DAY_MS);
    const lock = join(root, "clean.lock");
    writeFileSync(lock, JSON.stringify({ ...currentProcess(), host: "another", token: "foreign" }));
    nodeFileSystem.touch(lock, Date.now() + 30 * DAY_MS);
    expect(await clean()).toMatchObject({ status: "cleaned", removedFiles: 1 });
  });

  it("does not keep unfinished files that are dated ahead", async () => {
    await store.put("something");
    const unfinished = join(root, `.1-${"0".repeat(16)}.tmp`);
    writeFileSync(unfinished, "x");
    nodeFileSystem.touch(unfinished, Date.now() + DAY_MS);
    expect(await clean()).toMatchObject({ removedTemporaries: 1 });
  });

  it("does not put the next cleaning off", async () => {
    let nowMs = Date.now();
    const onCleaned = vi.fn();
    const cleaned = createFileOutputStore({ root, durable: false, now: () => nowMs, onCleaned });
    await cleaned.put("first");
    await vi.waitFor(() => expect(onCleaned).toHaveBeenCalledTimes(1));
    nowMs -= 2 * DAY_MS;
    await cleaned.put("second");
    await vi.waitFor(() => expect(onCleaned).toHaveBeenCalledTimes(2));
  });
});

describe("cleanOutputs", () => {
  it("removes what was not used for seven days", async () => {
    await putAged("old", 7 * DAY_MS + HOUR_MS);
    const young = await putAged("young", 7 * DAY_MS - HOUR_MS);
    expect(await clean()).toEqual({
      status: "cleaned",
      removedFiles: 1,
      removedBytes: 3,
      keptFiles: 1,
      keptBytes: 5,
      removedTemporaries: 0,
      problems: [],
    });
    expect(textsLeft()).toEqual([young.handle]);
  });

  it("removes the least recently used until the number fits", async () => {
    const files: { readonly handle: string }[] = [];
    for (let index = 0; index < 6; index += 1)
      files.push(await putAged(`text ${index}`, (6 - index) * HOUR_MS));
    await store.get(files[0]?.handle ?? "");
    expect(await clean({ maxFiles: 3 })).toMatchObject({ removedFiles: 3, keptFiles: 3 });
    expect(textsLeft().toSorted()).toEqual([0, 4, 5].map((index) => files[index]?.handle).toSorted());
  });

  it("removes the least recently used until the bytes fit", async () => {
    await putAged("a".repeat(600), 3 * HOUR_MS);
    await putAged("b".repeat(600), 2 * HOUR_MS);
    const last = await putAged("c".repeat(600), HOUR_MS);
    expect(await clean({ maxBytes: 1_000 })).toMatchObject({ removedBytes: 1_200, keptBytes: 600 });
    expect(textsLeft()).toEqual([last.handle]);
  });

  it("keeps what a session refers to, whatever the limits", async () => {
    const live = await putAged("live", 100 * DAY_MS);
    await putAged("dead", 100 * DAY_MS);
    await clean({ maxFiles: 0, maxBytes: 0, live: async () => new Set([live.handle]) });
    expect(textsLeft()).toEqual([live.handle]);
  });

  it("removes nothing when it cannot be told what is live", async () => {
    const old = await putAged("old", 100 * DAY_MS);
    const report = await clean({
      live: () => Promise.reject(Object.assign(new Error("no"), { code: "EIO" })),
    });
    expect(report).toMatchObject({ status: "failed", code: "EIO" });
    expect(textsLeft()).toEqual([old.handle]);
  });

  it("keeps what was used within the last minute, whatever the limits", async () => {
    await store.put("just now");
    expect(await clean({ maxFiles: 0 })).toMatchObject({ removedFiles: 0, keptFiles: 1 });
  });

  it("removes unfinished files after an hour and leaves foreign files alone", async () => {
    await store.put("something");
    const unfinished = join(root, `.1-${"0".repeat(16)}.tmp`);
    const recent = join(root, `.1-${"1".repeat(16)}.tmp`);
    for (const name of [unfinished, recent, join(root, "notes.txt")]) writeFileSync(name, "x");
    nodeFileSystem.touch(unfinished, Date.now() - HOUR_MS - 1_000);
    nodeFileSystem.touch(join(root, "notes.txt"), 0);
    expect(await clean()).toMatchObject({ removedTemporaries: 1 });
    expect([unfinished, recent, join(root, "notes.txt")].map(existsSync)).toEqual([false, true, true]);
  });

  it("spares a file that is put again while it is being removed", async () => {
    const old = await putAged("put again", 100 * DAY_MS);
    let putAgain: Promise<unknown> | undefined;
    const rename: FileSystem["rename"] = (from, to) => {
      // The other process is done just before the file goes out of its sight.
      if (to.endsWith(".doomed")) nodeFileSystem.touch(from, Date.now());
      nodeFileSystem.rename(from, to);
      // And a third writes it while it is out of sight.
      if (to.endsWith(".doomed")) putAgain = store.put("put again");
    };
    expect(await clean({ fs: { ...nodeFileSystem, rename } })).toMatchObject({
      removedFiles: 0,
      problems: [],
    });
    await putAgain;
    expect(await store.get(old.handle)).toBe("put again");
    expect(textsLeft()).toEqual([old.handle]);
  });

  it("gives back what a cleaning that died was about to remove, and keeps it readable until then", async () => {
    const { handle, path } = await putAged("about to go", HOUR_MS);
    renameSync(path, `${path}.doomed`);
    expect(await store.get(handle)).toBe("about to go");
    await clean();
    expect(textsLeft()).toEqual([handle]);
  });

  it("has the old name on the disk again before it takes the other away", async () => {
    const { path } = await putAged("about to go", HOUR_MS);
    renameSync(path, `${path}.doomed`);
    const calls: string[] = [];
    const fs: FileSystem = {
      ...nodeFileSystem,
      link(from, to) {
        if (to === path) calls.push("link");
        nodeFileSystem.link(from, to);
      },
      async fsync() {
        calls.push("fsync");
      },
      unlink(gone) {
        if (gone.endsWith(".doomed")) calls.push("unlink");
        nodeFileSystem.unlink(gone);
      },
    };
    await clean({ fs });
    expect(calls).toEqual(["link", "fsync", "unlink"]);
  });

  it("keeps 1 GiB by default", async () => {
    for (const hours of [3, 2, 1]) await putAged(`${hours}`, hours * HOUR_MS);
    const fs: FileSystem = {
      ...nodeFileSystem,
      lstat: (path) => ({ ...nodeFileSystem.lstat(path), sizeBytes: 2 ** 29 }),
    };
    expect(await clean({ fs })).toMatchObject({ removedFiles: 1, keptFiles: 2 });
  });

  it("keeps 10,000 files by default, the most recently used", { timeout: 60_000 }, async () => {
    for (let index = 0; index < 10_100; index += 1) {
      const text = `${index}`;
      const sha256 = createHash("sha256").update(text).digest("hex");
      mkdirSync(join(root, sha256.slice(0, 2)), { recursive: true, mode: 0o700 });
      const path = join(root, sha256.slice(0, 2), sha256);
      writeFileSync(path, text);
      nodeFileSystem.touch(path, Date.now() - HOUR_MS - ((index * 7_919) % 10_100) * 1_000);
    }
    expect(await clean()).toMatchObject({ removedFiles: 100, keptFiles: 10_000 });
    const paths = textsLeft().map((name) => join(root, name.slice(0, 2), name));
    const oldestMs = Math.min(...paths.map((path) => nodeFileSystem.lstat(path).modifiedMs));
    expect(Date.now() - HOUR_MS - oldestMs).toBeLessThan(10_000_000 + 60_000);
  });

  it("is left to the one that already cleans", async () => {
    await putAged("old", 100 * DAY_MS);
    writeFileSync(join(root, "clean.lock"), JSON.stringify({ ...currentProcess(), token: "foreign" }));
    expect(await clean()).toMatchObject({ status: "failed", code: "LOCKED" });
    expect(textsLeft()).toHaveLength(1);
  });

  it("does not enter a linked folder", async () => {
    const { handle } = await putAged("old", 100 * DAY_MS);
    renameSync(join(root, handle.slice(0, 2)), join(folder, "outside"));
    symlinkSync(join(folder, "outside"), join(root, handle.slice(0, 2)));
    expect(await clean()).toMatchObject({ removedFiles: 0 });
    expect(readdirSync(join(folder, "outside"))).toEqual([handle]);
  });

  it("lets the rest of the program run while it works", async () => {
    for (let index = 0; index < 40; index += 1) await putAged(`text ${index}`, 100 * DAY_MS);
    let turns = 0;
    let isCleaning = true;
    const count = (): void => {
      turns += 1;
      if (isCleaning) setImmediate(count);
    };
    setImmediate(count);
    const lstat: FileSystem["lstat"] = (path) => {
      const untilMs = performance.now() + 3;
      while (performance.now() < untilMs);
      return nodeFileSystem.lstat(path);
    };
    await clean({ fs: { ...nodeFileSystem, lstat } });
    isCleaning = false;
    // 80 looks of 3 ms each, in slices of 8 ms.
    expect(turns).toBeGreaterThanOrEqual(20);
  });
});

describe("the store's own cleaning", () => {
  it("comes with the first put and then once an hour", async () => {
    let nowMs = Date.now();
    const reports: string[] = [];
    const cleaning = createFileOutputStore({
      root,
      durable: false,
      now: () => nowMs,
      onCleaned: (report) => reports.push(report.status),
    });
    for (const [stepMs, cleanings] of [
      [0, 1],
      [1_000, 1],
      [HOUR_MS, 2],
    ] as const) {
      nowMs += stepMs;
      await cleaning.put("text");
      await vi.waitFor(() => expect(reports.length).toBeGreaterThanOrEqual(cleanings), 10_000);
    }
    expect(reports).toEqual(["cleaned", "cleaned"]);
  });
});
