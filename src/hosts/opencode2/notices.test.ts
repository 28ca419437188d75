import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createNotices, NOTICES_FILE } from "./notices.ts";

const DAY_MS = 86_400_000;

function folder(): string {
  const root = mkdtempSync(join(tmpdir(), "carryover-notices-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** What stands in the file once it was written. */
async function left(root: string): Promise<void> {
  await expect.poll(() => readdirSync(root).some((name) => NOTICES_FILE.test(name))).toBe(true);
}

it("a notice waits for a terminal of its folder, and one alone gets it, each text once", async () => {
  const root = folder();
  const server = createNotices({ root });
  const [one, other] = [createNotices({ root }), createNotices({ root })];
  expect(await one.take("/a")).toEqual([]);
  server.leave("/a", { text: "Carryover is loaded.", tone: "info" });
  server.leave("/a", { text: "Nothing can be kept now.", tone: "error" });
  server.leave("/a", { text: "Carryover is loaded.", tone: "info" });
  const linesLeft = (): number =>
    readdirSync(root).flatMap((name) => readFileSync(join(root, name), "utf8").trim().split("\n")).length;
  await expect.poll(linesLeft).toBe(3);
  expect(await one.take("/b")).toEqual([]);
  const taken = await Promise.all([one.take("/a"), other.take("/a")]);
  expect(taken.flat()).toEqual([
    { text: "Nothing can be kept now.", tone: "error" },
    { text: "Carryover is loaded.", tone: "info" },
  ]);
  expect(readdirSync(root)).toEqual([]);
});

it("what nobody read for a day is no news", async () => {
  const root = folder();
  createNotices({ root, now: () => 0 }).leave("/a", { text: "old", tone: "info" });
  await left(root);
  expect(await createNotices({ root, now: () => DAY_MS + 1 }).take("/a")).toEqual([]);
});
