import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createFileJournal } from "../../src/stores/files/journal.ts";
import { createFileOutputStore } from "../../src/stores/files/output-store.ts";
import { pathName } from "../../src/stores/files/path-name.ts";
import { createFileRecordStore } from "../../src/stores/files/record-store.ts";
import { bundleChild } from "./bundle-child.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const hostileInputs = new URL("../../../shared/fixtures/hostile-inputs.mjs", import.meta.url);
const hasHostileInputs = existsSync(hostileInputs);
if (!hasHostileInputs) console.log("skipped: the hostile ids need ../shared/fixtures/hostile-inputs.mjs");

/** Everything below a folder, links not followed. */
function everythingBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return lstatSync(path).isDirectory() ? [path, ...everythingBelow(path)] : [path];
  });
}

/** Writes to a store of each kind, with default options. */
async function writeEach(root: string): Promise<readonly unknown[]> {
  const records = createFileRecordStore({ root: join(root, "records") });
  const found = await records.get("a");
  return [
    await records.put({ id: "a", value: 1, expected: found.status === "found" ? found.version : "missing" }),
    await createFileJournal({ root: join(root, "journal"), session: "s" }).append("x".repeat(1_100_000)),
    await createFileOutputStore({ root: join(root, "outputs") }).put("x"),
  ];
}

describe("a link", () => {
  it("in the place of the folder is refused by every store", async () => {
    const folder = temporaryFolder();
    const root = join(folder, "root");
    mkdirSync(join(folder, "victim"));
    symlinkSync(join(folder, "victim"), root);
    const unsafe = { status: "failed", code: "UNSAFE_FOLDER" };
    expect(await createFileOutputStore({ root }).put("x")).toMatchObject(unsafe);
    expect(await createFileJournal({ root, session: "s" }).append("x")).toMatchObject(unsafe);
    expect(
      await createFileRecordStore({ root }).put({ id: "a", value: 1, expected: "missing" }),
    ).toMatchObject(unsafe);
    expect(readdirSync(join(folder, "victim"))).toEqual([]);
  });

  it("in the place of a folder of saved outputs is refused", async () => {
    const folder = temporaryFolder();
    const root = join(folder, "root");
    const known = await createFileOutputStore({ root }).put("other");
    const aimed = await createFileOutputStore({ root: join(folder, "elsewhere") }).put("text");
    if (known.status === "failed" || aimed.status === "failed") throw new Error("not stored");
    mkdirSync(join(folder, "victim"), { mode: 0o700 });
    symlinkSync(join(folder, "victim"), join(root, aimed.handle.slice(0, 2)));
    const outcome = await createFileOutputStore({ root }).put("text");
    expect(outcome).toMatchObject({ status: "failed", code: "UNSAFE_FOLDER" });
    expect(readdirSync(join(folder, "victim"))).toEqual([]);
  });

  it("in the place of a saved output is neither read nor written through", async () => {
    const folder = temporaryFolder();
    const root = join(folder, "root");
    const stored = await createFileOutputStore({ root: join(folder, "elsewhere") }).put("text");
    if (stored.status === "failed" || stored.path === undefined) throw new Error("not stored");
    mkdirSync(join(root, stored.handle.slice(0, 2)), { recursive: true, mode: 0o700 });
    symlinkSync(stored.path, join(root, stored.handle.slice(0, 2), stored.handle));
    const store = createFileOutputStore({ root });
    expect(await store.get(stored.handle)).toMatchObject({ status: "failed" });
    writeFileSync(stored.path, "victim");
    expect(await store.put("text")).toMatchObject({ status: "stored" });
    expect(await store.get(stored.handle)).toBe("text");
    expect(readFileSync(stored.path, "utf8")).toBe("victim");
  });

  it.each(["a.json", "a.json.bak", "a.lock"])(
    "in the place of %s is neither read nor written through",
    async (name) => {
      const folder = temporaryFolder();
      const root = join(folder, "root");
      const elsewhere = createFileRecordStore({ root: join(folder, "elsewhere") });
      await elsewhere.put({ id: "a", value: "secret", expected: "missing" });
      const victim = join(folder, "elsewhere", "a.json");
      const content = readFileSync(victim, "utf8");
      mkdirSync(root, { mode: 0o700 });
      symlinkSync(victim, join(root, name));
      const store = createFileRecordStore({ root });
      expect(JSON.stringify(await store.get("a"))).not.toContain("secret");
      expect(JSON.stringify(await store.list())).not.toContain("secret");
      const outcome = await store.put({ id: "a", value: 1, expected: "missing" });
      expect(outcome).toMatchObject({ status: "failed", code: "ELOOP" });
      expect(readFileSync(victim, "utf8")).toBe(content);
    },
  );

  it("in the place of a log is neither read nor written through", async () => {
    const folder = temporaryFolder();
    const root = join(folder, "root");
    const nowMs = 1_700_000_000_000;
    await createFileJournal({ root: join(folder, "elsewhere"), session: "s" }).append("secret");
    const [log = ""] = readdirSync(join(folder, "elsewhere"));
    const victim = join(folder, "elsewhere", log);
    const content = readFileSync(victim, "utf8");
    mkdirSync(root, { mode: 0o700 });
    symlinkSync(victim, join(root, `s.${process.pid}-${nowMs}-1.jsonl`));
    const journal = createFileJournal({ root, session: "s", now: () => nowMs });
    expect(await journal.read()).toMatchObject({
      entries: [],
      problems: [{ type: "failed", code: "ELOOP" }],
    });
    expect(await journal.append("x")).toMatchObject({ status: "appended" });
    expect((await journal.read()).entries).toMatchObject([{ value: "x" }]);
    expect(readFileSync(victim, "utf8")).toBe(content);
  });

  it("above the folder is the user's own affair", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "real"));
    symlinkSync(join(folder, "real"), join(folder, "linked"));
    const stored = await createFileOutputStore({ root: join(folder, "linked", "outputs") }).put("x");
    expect(stored).toMatchObject({
      status: "stored",
      path: expect.stringContaining(join("real", "outputs")),
    });
  });
});

describe("files and folders", () => {
  it("are their owner's only, even under umask 000", async () => {
    const root = join(temporaryFolder(), "not", "there");
    const child = await bundleChild(fileURLToPath(new URL("./writer-child.ts", import.meta.url)));
    try {
      const command = `umask 000; exec "$0" "$@"`;
      execFileSync("sh", ["-c", command, process.execPath, child.path, "each", root]);
    } finally {
      child.remove();
    }
    const paths = [dirname(root), root, ...everythingBelow(root)];
    expect(paths.length).toBeGreaterThan(12);
    for (const path of paths) {
      const stat = lstatSync(path);
      expect([path, stat.mode & 0o777]).toEqual([path, stat.isDirectory() ? 0o700 : 0o600]);
    }
  });

  it("are closed to others when the folder was open to them", async () => {
    const root = temporaryFolder();
    mkdirSync(join(root, "open"), { mode: 0o755 });
    await createFileRecordStore({ root: join(root, "open") }).list();
    expect(lstatSync(join(root, "open")).mode & 0o777).toBe(0o700);
  });

  it("are closed to others where they were restored open", async () => {
    const root = join(temporaryFolder(), "restored");
    await writeEach(root);
    for (const path of [root, ...everythingBelow(root)]) chmodSync(path, 0o755);
    for (const outcome of await writeEach(root)) expect(outcome).not.toMatchObject({ status: "failed" });
    for (const name of ["records", "journal", "outputs"])
      expect(lstatSync(join(root, name)).mode & 0o777).toBe(0o700);
  });

  it.each([
    { name: "a temporary folder", mode: 0o1777, holds: [] },
    { name: "a folder that a group writes to", mode: 0o775, holds: ["of-others.txt"] },
    { name: "a folder of a web site", mode: 0o755, holds: ["index.html"] },
    { name: "a project", mode: 0o755, holds: ["package.json", "src"] },
  ])("are refused in $name, which keeps its rights, with what to do", async ({ mode, holds }) => {
    const root = temporaryFolder();
    const stores = ["records", "journal", "outputs"].map((name) => join(root, name));
    for (const folder of stores) {
      mkdirSync(folder);
      for (const file of holds) writeFileSync(join(folder, file), "x");
      chmodSync(folder, mode);
    }
    for (const outcome of await writeEach(root))
      expect(outcome).toMatchObject({
        status: "failed",
        code: "UNSAFE_FOLDER",
        reason: expect.stringContaining("name one for this store alone, or close it with chmod 700"),
      });
    for (const folder of stores) {
      expect(lstatSync(folder).mode & 0o7777).toBe(mode);
      expect(readdirSync(folder)).toEqual(holds);
    }
  });

  it.skipIf(process.getuid?.() !== 0)("of another user are refused", async () => {
    const root = temporaryFolder();
    execFileSync("chown", ["12345", root]);
    const outcome = await createFileOutputStore({ root }).put("x");
    expect(outcome).toMatchObject({ status: "failed", code: "UNSAFE_FOLDER" });
  });
});

describe("an id from outside", () => {
  it.skipIf(!hasHostileInputs)("never leads out of the folder", async () => {
    const { ids } = (await import(hostileInputs.href)) as { readonly ids: readonly string[] };
    expect(ids).toHaveLength(24);
    const folder = temporaryFolder();
    const root = join(folder, "root");
    const records = createFileRecordStore({ root: join(root, "records"), durable: false });
    for (const id of ids) {
      expect(dirname(join(root, pathName(id)))).toBe(root);
      expect(await records.put({ id, value: id, expected: "missing" })).toMatchObject({ status: "stored" });
      const journal = createFileJournal({ root: join(root, "journals"), session: id, durable: false });
      expect(await journal.append(id)).toMatchObject({ status: "appended" });
      expect((await journal.read()).entries).toMatchObject([{ value: id }]);
      expect(await createFileOutputStore({ root: join(root, "outputs") }).get(id)).toBeUndefined();
    }
    for (const id of ids) expect(await records.get(id)).toMatchObject({ status: "found", id, value: id });
    expect(new Set(ids.map(pathName)).size).toBe(24);
    expect(readdirSync(folder)).toEqual(["root"]);
    for (const path of everythingBelow(root)) {
      expect(realpathSync(path).startsWith(root + sep)).toBe(true);
      expect(path.slice(root.length)).toMatch(/^[/\\A-Za-z0-9_.@-]+$/);
    }
  });

  it.each([
    ["ses_1", "ses_1"],
    ["A-b_9", "A-b_9"],
    ["x".repeat(64), "x".repeat(64)],
  ])("stays readable when it is harmless: %s", (id, name) => {
    expect(pathName(id)).toBe(name);
  });

  it.each(["", ".", "..", "a.b", "a/b", "con", "LPT1", "x".repeat(65), "é", "@"])(
    "is hashed when it is not: %j",
    (id) => {
      expect(pathName(id)).toMatch(/^@[0-9a-f]{64}$/);
    },
  );
});
