import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Journal, JournalContent } from "../../session/journal.ts";
import { type FileSystem, nodeFileSystem } from "./file-system.ts";
import { createFileJournal, LINE_MAX_BYTES } from "./journal.ts";

let root: string;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "carryover-journal-")));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (options: { readonly fs?: FileSystem; readonly session?: string } = {}): Journal =>
  createFileJournal({ root, session: "ses_1", durable: false, ...options });
const NEWLINE = 0x0a;
const segments = (): readonly string[] => readdirSync(root).filter((name) => name.endsWith(".jsonl"));
const segmentPath = (): string => join(root, segments()[0] ?? "");
const valuesOf = (content: JournalContent): readonly unknown[] => content.entries.map((entry) => entry.value);

async function writeValues(values: readonly unknown[]): Promise<void> {
  const journal = open();
  for (const value of values) expect(await journal.append(value)).toMatchObject({ status: "appended" });
}

describe("a log cut short", () => {
  it("at any byte of 4 KB gives every whole line and reports the torn one", async () => {
    const values = Array.from({ length: 50 }, (_, index) => ({
      index,
      text: `entry ✓ ${"x".repeat(index)}`,
    }));
    await writeValues(values);
    const whole = readFileSync(segmentPath());
    expect(whole.byteLength).toBeGreaterThanOrEqual(4_096);
    let lines = values.length;
    for (let length = whole.byteLength; length >= 0; length -= 1) {
      if (whole[length] === NEWLINE) lines -= 1;
      truncateSync(segmentPath(), length);
      const content = await open().read();
      const isTorn = length > 0 && whole[length - 1] !== NEWLINE;
      const torn = { type: "torn-tail", line: lines + 1 };
      expect(content.problems).toMatchObject(isTorn ? [torn] : []);
      if (content.entries.length !== lines)
        expect.fail(`cut at ${length}: ${content.entries.length} entries`);
      expect(content.entries.at(-1)?.value).toEqual(values[lines - 1]);
    }
  });

  it("is written on without touching the torn line", async () => {
    await writeValues(["first", "second"]);
    const torn = readFileSync(segmentPath()).subarray(0, -3);
    writeFileSync(segmentPath(), torn);
    expect(await open().append("third")).toMatchObject({ sequence: 2 });
    const content = await open().read();
    expect(valuesOf(content)).toEqual(["first", "third"]);
    expect(content.problems).toMatchObject([{ type: "torn-tail", line: 2 }]);
  });
});

describe("a damaged line", () => {
  it.each([
    { name: "that does not parse", damage: (line: string) => line.slice(0, -5), code: "SYNTAX" },
    {
      name: "that was changed",
      damage: (line: string) => line.replace("second", "sXcond"),
      code: "CHECKSUM",
    },
    { name: "with NUL bytes", damage: (line: string) => "\0".repeat(line.length), code: "NUL" },
    { name: "that is empty", damage: () => "", code: "SYNTAX" },
    { name: "of another version", damage: () => '{"v":2,"c":2363233923}', code: "CHECKSUM" },
  ])(
    "$name is left out and reported by its number, and the file stays as it is",
    async ({ damage, code }) => {
      await writeValues(["first", "second", "third"]);
      const lines = readFileSync(segmentPath(), "utf8").split("\n");
      lines[1] = damage(lines[1] ?? "");
      writeFileSync(segmentPath(), lines.join("\n"));
      const content = await open().read();
      expect(valuesOf(content)).toEqual(["first", "third"]);
      expect(content.problems).toMatchObject([{ type: "bad-line", line: 2, code, place: segments()[0] }]);
      expect(readFileSync(segmentPath(), "utf8")).toBe(lines.join("\n"));
    },
  );

  it("that is gone altogether is noticed by the numbers", async () => {
    await writeValues(["first", "second", "third"]);
    const lines = readFileSync(segmentPath(), "utf8").split("\n");
    writeFileSync(segmentPath(), lines.filter((_, index) => index !== 1).join("\n"));
    expect((await open().read()).problems).toMatchObject([{ type: "missing-lines", line: 2 }]);
  });

  it("that stands there twice counts once", async () => {
    await writeValues(["first"]);
    appendFileSync(segmentPath(), readFileSync(segmentPath()));
    const content = await open().read();
    expect(valuesOf(content)).toEqual(["first"]);
    expect(content.problems).toMatchObject([{ type: "bad-line", line: 2, code: "ORDER" }]);
  });

  it("does not stop the reading, however many there are", async () => {
    await writeValues(["first"]);
    appendFileSync(segmentPath(), "\n".repeat(300_000));
    const { entries, problems } = await open().read();
    expect(entries).toHaveLength(1);
    expect(problems.length).toBeLessThanOrEqual(1_001);
    expect(problems.at(-1)?.reason).toContain("299000 more");
  });
});

describe("a long value", () => {
  it("is kept beside the log and its line stays short", async () => {
    const long = "x".repeat(LINE_MAX_BYTES);
    await writeValues([long]);
    expect(readFileSync(segmentPath()).byteLength).toBeLessThan(200);
    expect(valuesOf(await open().read())).toEqual([long]);
  });

  it("stays in its line when the line just fits", async () => {
    const overhead = Buffer.byteLength('{"v":1,"n":1,"e":"","c":4294967295}\n');
    await writeValues(["x".repeat(LINE_MAX_BYTES - overhead)]);
    expect(readFileSync(segmentPath()).byteLength).toBeGreaterThan(LINE_MAX_BYTES - 10);
    expect(readFileSync(segmentPath()).byteLength).toBeLessThanOrEqual(LINE_MAX_BYTES);
  });

  it("that is gone is a problem, not an error and not silence", async () => {
    await writeValues(["first", "x".repeat(LINE_MAX_BYTES), "third"]);
    rmSync(join(root, "long"), { recursive: true });
    const content = await open().read();
    expect(valuesOf(content)).toEqual(["first", "third"]);
    expect(content.problems).toMatchObject([{ type: "bad-line", code: "LONG_VALUE" }]);
  });
});

describe("appending", () => {
  it("makes one write a line", async () => {
    const writes: number[] = [];
    const write: FileSystem["write"] = (fd, bytes) => {
      writes.push(bytes.byteLength);
      return nodeFileSystem.write(fd, bytes);
    };
    const journal = open({ fs: { ...nodeFileSystem, write } });
    for (const size of [1, 1_000, 1_000_000]) await journal.append("x".repeat(size));
    expect(writes).toHaveLength(3);
  });

  it("goes to a new file after half a line was written, and loses nothing", async () => {
    let isFull = false;
    const write: FileSystem["write"] = (fd, bytes) => {
      if (!isFull) return nodeFileSystem.write(fd, bytes);
      nodeFileSystem.write(fd, bytes.subarray(0, 7));
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    const journal = open({ fs: { ...nodeFileSystem, write } });
    await journal.append("first");
    isFull = true;
    expect(await journal.append("second")).toMatchObject({ status: "failed", code: "ENOSPC" });
    isFull = false;
    await journal.append("third");
    const content = await open().read();
    expect(valuesOf(content)).toEqual(["first", "third"]);
    expect(content.problems).toMatchObject([{ type: "torn-tail" }]);
    expect(segments()).toHaveLength(2);
  });

  it("goes on where one file cannot be read, and counts from the time, above whatever stands in it", async () => {
    await writeValues(["first"]);
    const unreadable = segments()[0] ?? "";
    await writeValues(["second"]);
    const fs: FileSystem = {
      ...nodeFileSystem,
      open(path, purpose) {
        if (purpose === "read" && path.endsWith(unreadable))
          throw Object.assign(new Error("no"), { code: "EACCES" });
        return nodeFileSystem.open(path, purpose);
      },
    };
    const startedMs = Date.now();
    const appended = await open({ fs }).append("third");
    expect(appended.status === "appended" && appended.sequence).toBeGreaterThan(startedMs);
    expect((await open({ fs }).read()).problems).toMatchObject([{ type: "failed", code: "EACCES" }]);
    expect(valuesOf(await open().read())).toEqual(["first", "second", "third"]);
    const next = await open().append("fourth");
    expect(next.status === "appended" && next.sequence).toBeGreaterThan(startedMs + 1);
  });

  it("refuses where it cannot be seen which files there are", async () => {
    await writeValues(["first"]);
    const readdir = (): never => {
      throw Object.assign(new Error("disk"), { code: "EIO" });
    };
    expect(await open({ fs: { ...nodeFileSystem, readdir } }).append("second")).toMatchObject({
      code: "EIO",
    });
    expect((await open({ fs: { ...nodeFileSystem, readdir } }).read()).problems).toMatchObject([
      { code: "EIO" },
    ]);
  });
});

describe("a long log", () => {
  it("is gone on with from its end: what stands before is not read", async () => {
    await writeValues(Array.from({ length: 40 }, (_, index) => `${index}`.repeat(20_000)));
    const bytes = readFileSync(segmentPath());
    let readBytes = 0;
    const read: FileSystem["read"] = (fd, into, position) => {
      const count = nodeFileSystem.read(fd, into, position);
      readBytes += count;
      return count;
    };
    expect(await open({ fs: { ...nodeFileSystem, read } }).append("next")).toMatchObject({ sequence: 41 });
    expect(readBytes).toBeLessThan(bytes.byteLength / 2);
  });

  it.each([
    { name: "half a line", end: '{"v":1,"n":9,"e":"never fin' },
    { name: "lines of zeros", end: `${"\0".repeat(700_000)}\n${"\0".repeat(700_000)}` },
    { name: "one line that is far too long", end: `${"x".repeat(3_000_000)}\n` },
    { name: "empty lines", end: "\n\n\n" },
  ])("that ends with $name is counted from the last whole line", async ({ end }) => {
    await writeValues(["first", "x".repeat(300_000), "third"]);
    appendFileSync(segmentPath(), end);
    expect(await open().append("next")).toMatchObject({ sequence: 4 });
    expect(valuesOf(await open().read()).at(-1)).toBe("next");
  });

  it("is written into files of bounded length, and read as one", async () => {
    const values = Array.from({ length: 72 }, (_, index) => `${index} ${"x".repeat(950_000)}`);
    await writeValues(values);
    expect(segments()).toHaveLength(2);
    const { entries, problems } = await open().read();
    expect(problems).toEqual([]);
    expect(entries.map(({ value }) => String(value).slice(0, 3))).toEqual(
      values.map((value) => value.slice(0, 3)),
    );
  });

  it("is not stopped by something else under a name like that of its files", async () => {
    await writeValues(["first"]);
    mkdirSync(join(root, "ses_1.1-1-1.jsonl"));
    symlinkSync(segmentPath(), join(root, "ses_1.1-1-2.jsonl"));
    expect(await open().append("second")).toMatchObject({ status: "appended" });
    const { entries, problems } = await open().read();
    expect(entries).toHaveLength(2);
    expect(problems).toHaveLength(2);
  });
});

it("keeps sessions apart, also when one name begins with the other", async () => {
  const sessions = ["a", "a.1-1-1", "a.1-1-1.jsonl", "@", "a b", "../a", ""];
  for (const session of sessions) await open({ session }).append(session);
  for (const session of sessions) expect(valuesOf(await open({ session }).read())).toEqual([session]);
});
