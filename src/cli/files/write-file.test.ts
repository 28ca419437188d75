import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { CliError } from "../terminal/cli-error.ts";
import { importableSession, orderByTime } from "./edited-text.ts";
import { writeFileAtomic } from "./write-file.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "carryover-write-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("writeFileAtomic", () => {
  it("replaces a file, with the rights that are asked for, and leaves nothing else", async () => {
    const path = join(folder, "page.html");
    writeFileSync(path, "old", { mode: 0o644 });
    await writeFileAtomic(path, "new", { mode: 0o600 });
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["page.html"]);
  });

  it("writes through no link that somebody has put in its way", async () => {
    const precious = join(folder, "precious");
    writeFileSync(precious, "precious");
    const path = join(folder, "out.txt");
    symlinkSync(precious, path);
    symlinkSync(precious, `${path}.${process.pid}.tmp`);
    await writeFileAtomic(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(readFileSync(precious, "utf8")).toBe("precious");
  });

  it("says why a file cannot be written, and leaves nothing behind", async () => {
    await expect(writeFileAtomic(join(folder, "no", "such", "folder"), "x")).rejects.toThrow(CliError);
    expect(readdirSync(folder)).toEqual([]);
  });
});

const user = { role: "user", agent: "build", model: { providerID: "p", modelID: "m" } };
const assistant = {
  role: "assistant",
  parentID: "u",
  modelID: "m",
  providerID: "p",
  mode: "build",
  agent: "build",
  path: { cwd: "/", root: "/" },
  cost: 3,
  tokens: { input: 9 },
};
const parts = [{ type: "text", text: "hello", id: "m1-part-1" }];

describe("importableSession", () => {
  it("changes nothing where nothing is missing", () => {
    const wire = deepFreeze([
      { info: user, parts },
      { info: assistant, parts },
    ]);
    expect(importableSession(wire)).toBe(wire);
  });

  it("gives an inserted message what its neighbours of the same role have, but not what they cost", () => {
    const wire = deepFreeze({
      info: { id: "ses" },
      messages: [
        { info: { role: "user", id: "a" }, parts },
        { info: { role: "assistant", id: "b", summary: true, parentID: "a" }, parts },
        { info: user, parts },
        { info: assistant, parts },
      ],
    });
    const { messages } = importableSession(wire) as typeof wire;
    expect(messages[0]).toEqual({
      info: { ...user, id: "a" },
      parts: [{ ...parts[0], id: "prt_m1-part-1" }],
    });
    expect(messages[1]?.info).toMatchObject({ parentID: "a", modelID: "m", cost: 0, tokens: { input: 0 } });
    expect(messages.slice(2)).toEqual(wire.messages.slice(2));
  });

  it("invents nothing where no message can lend it", () => {
    const wire = deepFreeze([{ info: { role: "user" }, parts }, null] as never);
    expect(importableSession(wire)).toBe(wire);
  });
});

const session = (...times: readonly (number | undefined)[]) =>
  deepFreeze(
    times.map((created, index) => ({ info: { role: "user", id: `${index}`, time: { created } }, parts: [] })),
  );
const timesOf = (wire: unknown) => (wire as ReturnType<typeof session>).map(({ info }) => info.time.created);

describe("orderByTime", () => {
  it.each([
    { name: "leaves what is in order", before: [1, 2, 2, 5], after: [1, 2, 2, 5] },
    { name: "dates an inserted message before what follows it", before: [99, 10, 20], after: [9, 10, 20] },
    { name: "keeps the order of several", before: [99, 98, 10, 20], after: [8, 9, 10, 20] },
    { name: "passes over messages without a time", before: [99, undefined, 10], after: [9, undefined, 10] },
  ])("$name", ({ before, after }) => expect(timesOf(orderByTime(session(...before)))).toEqual(after));

  it("gives the same reference where nothing is out of order", () => {
    const wire = session(1, 2, 3);
    expect(orderByTime(wire)).toBe(wire);
  });
});
