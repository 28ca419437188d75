import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OutputRef } from "../../tool-output/output-store.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createFileOutputStore } from "./output-store.ts";

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "carryover-output-")));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

async function put(content: string): Promise<OutputRef & { readonly path: string }> {
  const outcome = await createFileOutputStore({ root, durable: false }).put(content);
  if (outcome.status === "failed" || outcome.path === undefined) throw new Error(JSON.stringify(outcome));
  return { ...outcome, path: outcome.path };
}

it("calls nothing stored in a folder that another call has just made before the folder itself is safe", async () => {
  let open = (): void => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  // Only the folder above is waited for: a power cut now would lose the new one with all that is in it.
  const folders = new Set<number>();
  const fs: FileSystem = {
    ...nodeFileSystem,
    open(path, purpose) {
      const fd = nodeFileSystem.open(path, purpose);
      if (purpose === "folder" && path === root) folders.add(fd);
      return fd;
    },
    fsync: (fd) => (folders.has(fd) ? gate : nodeFileSystem.fsync(fd)),
  };
  let stored = 0;
  const puts = ["same", "same", "beside"].map(async (name) => {
    const place = join(root, "not-there", name);
    await createFileOutputStore({ root: place, fs, cleaning: "never" }).put(name);
    stored += 1;
  });
  // What does not wait is done by then.
  await createFileOutputStore({ root: join(root, "other"), cleaning: "never" }).put("meanwhile");
  expect(stored).toBe(0);
  open();
  await Promise.all(puts);
  expect(stored).toBe(3);
});

it("brings folders that another program has made to the disk, once", async () => {
  const place = join(root, "made", "by-another");
  await createFileOutputStore({ root: place, durable: false }).put("text");
  const flushed: string[] = [];
  const paths = new Map<number, string>();
  const fs: FileSystem = {
    ...nodeFileSystem,
    open(path, purpose) {
      const fd = nodeFileSystem.open(path, purpose);
      if (purpose === "folder") paths.set(fd, path);
      return fd;
    },
    async fsync(fd) {
      flushed.push(paths.get(fd) ?? "a file");
      paths.delete(fd);
    },
  };
  for (let time = 0; time < 2; time += 1) await createFileOutputStore({ root: place, fs }).put("text");
  const made = [root, dirname(place), place];
  expect(flushed).toEqual(expect.arrayContaining(made));
  for (const folder of made) expect(flushed.filter((each) => each === folder)).toHaveLength(1);
});

describe("createFileOutputStore", () => {
  it("keeps the bytes under their hash, below the first two digits of it", async () => {
    const { path, sha256, handle } = await put("text ✓");
    expect(path).toBe(join(root, sha256.slice(0, 2), sha256));
    expect(handle).toBe(sha256);
    expect(readFileSync(path, "utf8")).toBe("text ✓");
  });

  it.each([
    { name: "cut short", damage: (text: string) => text.slice(0, -1) },
    { name: "changed", damage: (text: string) => text.replace("a", "b") },
    { name: "filled with NUL", damage: (text: string) => "\0".repeat(text.length) },
    { name: "emptied", damage: () => "" },
  ])(
    "never gives a file that was $name for the original, and mends it with the next put",
    async ({ damage }) => {
      const { path, handle } = await put("a text");
      writeFileSync(path, damage("a text"));
      expect(await createFileOutputStore({ root }).get(handle)).toMatchObject({ code: "DAMAGED" });
      await put("a text");
      expect(await createFileOutputStore({ root }).get(handle)).toBe("a text");
    },
  );

  it("writes aside, brings that to the disk, renames, and brings the folder to the disk", async () => {
    const calls: string[] = [];
    const traced: FileSystem = {
      ...nodeFileSystem,
      open(path, purpose) {
        calls.push(`open ${purpose}`);
        return nodeFileSystem.open(path, purpose);
      },
      async fsync() {
        calls.push("fsync");
      },
      rename(from, to) {
        calls.push("rename");
        nodeFileSystem.rename(from, to);
      },
    };
    const store = createFileOutputStore({ root, fs: traced, cleaning: "never" });
    await store.put("text");
    calls.length = 0;
    await store.put("text");
    expect(calls).toEqual(["open create", "fsync", "rename", "open folder", "fsync"]);
  });

  it("uses the state folder unless told otherwise", async () => {
    vi.stubEnv("XDG_STATE_HOME", root);
    const outcome = await createFileOutputStore({ durable: false }).put("text");
    expect(outcome).toMatchObject({ path: expect.stringContaining(join(root, "carryover", "outputs")) });
  });
});
