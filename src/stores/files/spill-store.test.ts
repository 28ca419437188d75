import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { SpillRef } from "../../tool-output/spill.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createFileSpillStore } from "./spill-store.ts";

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "carryover-spill-")));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

async function put(content: string): Promise<SpillRef & { readonly path: string }> {
  const outcome = await createFileSpillStore({ root, durable: false }).put(content);
  if (outcome.status === "failed" || outcome.path === undefined) throw new Error(JSON.stringify(outcome));
  return { ...outcome, path: outcome.path };
}

describe("createFileSpillStore", () => {
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
      expect(await createFileSpillStore({ root }).get(handle)).toBeUndefined();
      await put("a text");
      expect(await createFileSpillStore({ root }).get(handle)).toBe("a text");
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
    await put("text");
    await createFileSpillStore({ root, fs: traced, cleaning: "never" }).put("text");
    expect(calls).toEqual(["open create", "fsync", "rename", "open folder", "fsync"]);
  });

  it("uses the state folder unless told otherwise", async () => {
    vi.stubEnv("XDG_STATE_HOME", root);
    const outcome = await createFileSpillStore({ durable: false }).put("text");
    expect(outcome).toMatchObject({ path: expect.stringContaining(join(root, "carryover", "spill")) });
  });
});
