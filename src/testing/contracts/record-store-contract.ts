import assert from "node:assert/strict";
import type { RecordFound, RecordState, RecordStore } from "../../fork/life/record-store.ts";
import type { DriverUnderTest, TestRunner } from "./test-runner.ts";

/** Tests that a driver keeps the contract of the port RecordStore. */
export function recordStoreContract(
  { describe, it }: TestRunner,
  driver: DriverUnderTest<RecordStore>,
): void {
  describe(`${driver.name} as a RecordStore`, () => {
    it("says missing before the first put and after a delete", async () => {
      const store = (await driver.createPlace()).open();
      assert.deepEqual(await store.get("a"), { status: "missing" });
      const version = await stored(store, { id: "a", value: 1, expected: "missing" });
      assert.deepEqual(await store.delete("a", version), { status: "deleted" });
      assert.deepEqual(await store.get("a"), { status: "missing" });
    });

    it("gives back the newest value, with its version", async () => {
      const place = await driver.createPlace();
      for (const [index, value] of values.entries()) {
        const id = `r${index}`;
        const first = await stored(place.open(), { id, value: "older", expected: "missing" });
        const version = await stored(place.open(), { id, value, expected: first });
        assert.deepEqual(await place.open().get(id), { status: "found", id, version, value });
      }
    });

    it("changes nothing unless the record is in the expected state", async () => {
      const store = (await driver.createPlace()).open();
      const older = await stored(store, { id: "a", value: "older", expected: "missing" });
      const version = await stored(store, { id: "a", value: "newer", expected: older });
      for (const expected of [older, version + 1, 0, "missing", "corrupt"] satisfies RecordState[]) {
        assert.deepEqual(await store.put({ id: "a", value: "wrong", expected }), conflict(version));
        assert.deepEqual(await store.delete("a", expected), conflict(version));
      }
      for (const expected of [1, version, "corrupt"] satisfies RecordState[]) {
        assert.deepEqual(await store.put({ id: "b", value: "wrong", expected }), conflict("missing"));
        assert.deepEqual(await store.delete("b", expected), conflict("missing"));
      }
      assert.equal((await found(store, "a")).value, "newer");
      assert.deepEqual(await store.get("b"), { status: "missing" });
    });

    it("gives every put a greater version, also after a delete", async () => {
      const store = (await driver.createPlace()).open();
      let last = 0;
      let state: RecordState = "missing";
      for (let step = 0; step < 12; step += 1) {
        const version: number = await stored(store, { id: "a", value: step, expected: state });
        assert.ok(version > last);
        last = version;
        state = version;
        if (step % 4 !== 3) continue;
        await store.delete("a", version);
        state = "missing";
      }
    });

    it("refuses with a value what JSON cannot hold, and keeps what was there", async () => {
      const store = (await driver.createPlace()).open();
      const version = await stored(store, { id: "a", value: "kept", expected: "missing" });
      for (const value of [undefined, () => 1, 1n]) {
        const outcome = await store.put({ id: "a", value, expected: version });
        assert.equal(outcome.status === "failed" && outcome.code, "NOT_JSON");
      }
      assert.equal((await found(store, "a")).value, "kept");
    });

    it("does not change when the caller's value does", async () => {
      const store = (await driver.createPlace()).open();
      const value = { list: [1] };
      await stored(store, { id: "a", value, expected: "missing" });
      value.list.push(2);
      ((await found(store, "a")).value as { list: number[] }).list.push(3);
      assert.deepEqual((await found(store, "a")).value, { list: [1] });
    });

    it("keeps records under any id apart, and lists them by id", async () => {
      const place = await driver.createPlace();
      for (const id of ids) await stored(place.open(), { id, value: { id }, expected: "missing" });
      for (const id of ids) assert.deepEqual((await found(place.open(), id)).value, { id });
      const list = await place.open().list();
      assert.equal(list.status, "listed");
      if (list.status !== "listed") return;
      assert.deepEqual(list.problems, []);
      assert.deepEqual(
        list.records.map((record) => record.id),
        [...ids].sort(),
      );
      for (const record of list.records) assert.deepEqual(record, await found(place.open(), record.id));
    });

    it("lets exactly one of many creators win", async () => {
      const place = await driver.createPlace();
      const puts = Array.from({ length: 10 }, (_, value) =>
        place.open().put({ id: "a", value, expected: "missing" }),
      );
      const outcomes = await Promise.all(puts);
      assert.equal(outcomes.filter((outcome) => outcome.status === "stored").length, 1);
      assert.equal(outcomes.filter((outcome) => outcome.status === "conflict").length, 9);
    });

    it("loses no update among writers that try again after a conflict", async () => {
      const place = await driver.createPlace();
      await stored(place.open(), { id: "a", value: 0, expected: "missing" });
      const increment = async (store: RecordStore): Promise<void> => {
        for (let done = 0; done < 10; ) {
          const { value, version } = await found(store, "a");
          const outcome = await store.put({ id: "a", value: (value as number) + 1, expected: version });
          assert.notEqual(outcome.status, "failed");
          if (outcome.status === "stored") done += 1;
        }
      };
      await Promise.all([place.open(), place.open(), place.open()].map(increment));
      assert.equal((await found(place.open(), "a")).value, 30);
    });
  });
}

function conflict(actual: RecordState): { readonly status: "conflict"; readonly actual: RecordState } {
  return { status: "conflict", actual };
}

async function stored(store: RecordStore, write: Parameters<RecordStore["put"]>[0]): Promise<number> {
  const outcome = await store.put(write);
  assert.ok(outcome.status === "stored", JSON.stringify(outcome));
  return outcome.version;
}

async function found(store: RecordStore, id: string): Promise<RecordFound> {
  const read = await store.get(id);
  assert.ok(read.status === "found", JSON.stringify(read));
  return read;
}

const values: readonly unknown[] = [
  null,
  "",
  "line\nbreak \0 😀 \ud800",
  { v: 2, id: "other", version: 7, value: null, c: 0 },
  JSON.parse('{"__proto__":{"polluted":true}}'),
  "x".repeat(2_000_000),
];

const ids: readonly string[] = [
  "",
  ".",
  "..",
  "../up",
  "..\\up",
  "/abs",
  "a/b",
  "a\0b",
  "aux",
  "NUL.txt",
  "long".repeat(100),
  "pipe|colon:star*",
  "é",
  "e\u0301",
  "😀",
  "\ud800",
  "\ud801",
  "__proto__",
  "toString",
  "-rf",
  "~user",
  "%2e%2e",
  "new\nline",
  " ",
  "dot.",
  "ses_1",
  "fork-2",
];
