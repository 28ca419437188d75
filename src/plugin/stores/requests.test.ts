import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRequestStore } from "./requests.ts";

describe("the store of views", () => {
  let root: string;
  beforeEach(() => {
    root = join(mkdtempSync(join(tmpdir(), "carryover-requests-")), "requests");
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const request = [{ info: { role: "user", id: "msg_1" }, parts: [{ type: "text", text: "grey 😀" }] }];

  async function put(): Promise<string> {
    const stored = await createRequestStore({ root }).put({ messages: request });
    if (stored.status === "failed") throw new Error(stored.reason);
    return stored.blob;
  }
  const fileOf = (blob: string) => join(root, blob.slice(0, 2), blob);

  it("gives the same messages to a restarted program", async () => {
    const blob = await put();
    expect(await createRequestStore({ root }).get(blob)).toEqual({ status: "found", messages: request });
  });

  it("gives equal views one name and one file, compressed and private", async () => {
    const blob = await put();
    expect(await put()).toBe(blob);
    expect(readdirSync(join(root, blob.slice(0, 2)))).toEqual([blob]);
    expect(JSON.parse(gunzipSync(readFileSync(fileOf(blob))).toString())).toEqual(request);
    expect(statSync(fileOf(blob)).mode & 0o777).toBe(0o600);
  });

  it("keeps a view for 14 days after its last use", async () => {
    const blob = await put();
    for (const [days, isKept] of [
      [13, true],
      [15, false],
    ] as const) {
      const seconds = Date.now() / 1_000 - days * 86_400;
      utimesSync(fileOf(blob), seconds, seconds);
      // A store cleans when it is first written to.
      rmSync(join(root, ".cleaned"), { force: true });
      await createRequestStore({ root }).put({ messages: [...request, ...request] });
      await expect.poll(() => existsSync(fileOf(blob))).toBe(isKept);
    }
  });

  it("gives a view also where its last use cannot be noted", async () => {
    const blob = await put();
    const store = createRequestStore({ root, now: () => Number.NaN });
    expect(await store.get(blob)).toEqual({ status: "found", messages: request });
  });

  it("says that a damaged, missing or foreign view cannot be had", async () => {
    const blob = await put();
    writeFileSync(fileOf(blob), "damaged");
    const store = createRequestStore({ root });
    expect(await store.get(blob)).toEqual({ status: "failed", reason: "the stored copy is damaged" });
    expect(await store.get("0".repeat(64))).toMatchObject({ status: "failed" });
    expect(await store.get("../../etc/passwd")).toMatchObject({ status: "failed" });
  });

  it("says why a view cannot be stored", async () => {
    const cycle: Record<string, unknown> = { type: "text" };
    cycle.self = cycle;
    const messages = [{ info: { role: "user" }, parts: [cycle as { type: string }] }];
    expect(await createRequestStore({ root }).put({ messages })).toMatchObject({ status: "failed" });
    writeFileSync(root, "a file where the folder should be");
    expect(await createRequestStore({ root }).put({ messages: request })).toMatchObject({ status: "failed" });
  });

  it("forgets what was removed", async () => {
    const blob = await put();
    const store = createRequestStore({ root });
    await store.get(blob);
    store.remove(blob);
    expect(await store.get(blob)).toMatchObject({ status: "failed" });
  });
});
