import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { RecordFound, RecordState, RecordStore } from "../../fork/life/record-store.ts";
import type { Journal } from "../../session/journal.ts";
import type { OutputRef, OutputStore } from "../../tool-output/output-store.ts";
import { assertNeverMissing, type DriverUnderTest, type TestRunner, UNAVAILABLE } from "./test-runner.ts";

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
        const { ageMs: _, ...found } = { ageMs: 0, ...(await place.open().get(id)) };
        assert.deepEqual(found, { status: "found", id, version, value });
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
      for (const { ageMs: _, ...record } of list.records) {
        const { ageMs: __, ...alone } = await found(place.open(), record.id);
        assert.deepEqual(record, alone);
      }
    });

    it(UNAVAILABLE, () =>
      assertNeverMissing(driver, {
        fill: (store) => stored(store, { id: "a", value: 1, expected: "missing" }),
        ask: (store) => [
          store.get("a"),
          store.get("never put"),
          store.put({ id: "b", value: 1, expected: "missing" }),
          store.list(),
          store.delete("a", "missing"),
        ],
      }),
    );

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
  ...". .. ../up ..\\up /abs a/b aux NUL.txt pipe|colon:star* é 😀 __proto__ toString".split(" "),
  ..."-rf ~user %2e%2e dot. ses_1 fork-2".split(" "),
  ...["", " ", "a\0b", "new\nline", "long".repeat(100), "e\u0301", "\ud800", "\ud801"],
];

/** Tests that a driver keeps the contract of the port OutputStore. */
export function outputStoreContract(
  { describe, it }: TestRunner,
  driver: DriverUnderTest<OutputStore>,
): void {
  describe(`${driver.name} as an OutputStore`, () => {
    it("gives back exactly the text that was put", async () => {
      const store = (await driver.createPlace()).open();
      for (const text of texts) {
        const { handle } = await putStored(store, text);
        assert.ok((await store.get(handle)) === text, `the text of ${text.length} units came back changed`);
      }
    });

    it("counts and hashes the bytes of the text", async () => {
      const store = (await driver.createPlace()).open();
      for (const text of [...texts, "lone \ud800 surrogate"]) {
        const bytes = Buffer.from(text);
        const stored = await putStored(store, text);
        assert.equal(stored.bytes, bytes.byteLength);
        assert.equal(stored.sha256, createHash("sha256").update(bytes).digest("hex"));
      }
    });

    it("gives the replacement character for a lone surrogate", async () => {
      const store = (await driver.createPlace()).open();
      const { handle } = await putStored(store, "a\ud800b\udc00");
      assert.equal(await store.get(handle), "a\ufffdb\ufffd");
    });

    it("gives the same handle for the same content, as text or as bytes", async () => {
      const store = (await driver.createPlace()).open();
      const first = await putStored(store, "the same ✓");
      const again = await putStored(store, "the same ✓");
      const bytes = await putStored(store, new TextEncoder().encode("the same ✓"));
      assert.deepEqual([again.handle, bytes.handle], [first.handle, first.handle]);
      assert.notEqual((await putStored(store, "other")).handle, first.handle);
    });

    it("keeps bytes that are not UTF-8 and decodes them with replacement", async () => {
      const store = (await driver.createPlace()).open();
      const content = Uint8Array.of(0x61, 0xff, 0x62, 0xe2, 0x82);
      const stored = await putStored(store, content);
      assert.equal(stored.sha256, createHash("sha256").update(content).digest("hex"));
      assert.equal(await store.get(stored.handle), "a\ufffdb\ufffd");
    });

    it("does not change when the caller's bytes do", async () => {
      const store = (await driver.createPlace()).open();
      const content = Uint8Array.of(0x61, 0x62, 0x63);
      const { handle } = await putStored(store, content);
      content.fill(0x7a);
      assert.equal(await store.get(handle), "abc");
    });

    it("has nothing under a handle that it did not give", async () => {
      const store = (await driver.createPlace()).open();
      await putStored(store, "something");
      for (const handle of ["", "..", "../x", "a\0b", "__proto__", "f".repeat(64), "x".repeat(450)]) {
        assert.equal(await store.get(handle), undefined);
      }
    });

    it(UNAVAILABLE, () =>
      assertNeverMissing(driver, {
        fill: (store) => putStored(store, "kept"),
        ask: (store) => [store.get(KEPT_HASH), store.get("f".repeat(64)), store.put("other")],
      }),
    );

    it("keeps everything that is put at the same time", async () => {
      const place = await driver.createPlace();
      const stores = [place.open(), place.open()];
      const contents = Array.from({ length: 40 }, (_, index) => `content ${index % 20}`);
      const put = contents.map((content, index) => putStored(stores[index % 2] ?? place.open(), content));
      const handles = (await Promise.all(put)).map((stored) => stored.handle);
      const read = await Promise.all(handles.map((handle) => place.open().get(handle)));
      assert.deepEqual(read, contents);
    });
  });
}

const KEPT_HASH = createHash("sha256").update("kept").digest("hex");

async function putStored(store: OutputStore, content: string | Uint8Array): Promise<OutputRef> {
  const outcome = await store.put(content);
  if (outcome.status === "failed") assert.fail(`${outcome.code}: ${outcome.reason}`);
  return outcome;
}

const texts: readonly string[] = [
  "",
  "plain",
  "line\r\nline\n\n",
  "\ufeffwith a byte order mark",
  "NUL \0 and escape \u001b[31m",
  "e\u0301 é 😀 👩‍👩‍👧 ✓ 漢字",
  // Longer than any driver's piece, with every kind of character at the seams.
  "a😀".repeat(400_000),
  "漢".repeat(500_001),
  `x${"😀".repeat(300_001)}`,
];

/** Tests that a driver keeps the contract of the port Journal. */
export function journalContract({ describe, it }: TestRunner, driver: DriverUnderTest<Journal>): void {
  describe(`${driver.name} as a Journal`, () => {
    it("is empty at first, without problems", async () => {
      const journal = (await driver.createPlace()).open();
      assert.deepEqual(await journal.read(), { entries: [], problems: [] });
    });

    it("reads back every value in the order of the calls, under growing numbers", async () => {
      const journal = (await driver.createPlace()).open();
      const sequences = await Promise.all(entryValues.map((value) => appended(journal, value)));
      assert.deepEqual(
        sequences,
        [...new Set(sequences)].sort((a, b) => a - b),
      );
      const { entries, problems } = await journal.read();
      assert.deepEqual(problems, []);
      assert.deepEqual(
        entries.map((entry) => entry.value),
        entryValues,
      );
      assert.deepEqual(
        entries.map((entry) => entry.sequence),
        sequences,
      );
    });

    it("keeps the call order when a long value is followed by short ones", async () => {
      const journal = (await driver.createPlace()).open();
      const long = "long ✓".repeat(400_000);
      await Promise.all([long, "short", long, "last"].map((value) => appended(journal, value)));
      const read = (await journal.read()).entries.map((entry) => entry.value);
      assert.ok(read[0] === long && read[1] === "short" && read[2] === long && read[3] === "last");
    });

    it("does not change when the caller's value does", async () => {
      const journal = (await driver.createPlace()).open();
      const value = { list: [1] };
      const both = [appended(journal, value), appended(journal, value)];
      value.list.push(2);
      await Promise.all(both);
      const read = (await journal.read()).entries.map((entry) => entry.value);
      assert.deepEqual(read, [{ list: [1] }, { list: [1] }]);
    });

    it("refuses with a value what JSON cannot hold, and goes on", async () => {
      const journal = (await driver.createPlace()).open();
      const circular: { self?: unknown } = {};
      circular.self = circular;
      const throwing = {
        toJSON(): never {
          throw undefined;
        },
      };
      for (const value of [undefined, () => 1, Symbol("x"), 1n, circular, throwing]) {
        const outcome = await journal.append(value);
        assert.equal(outcome.status === "failed" && outcome.code, "NOT_JSON");
      }
      await appended(journal, "still works");
      assert.equal((await journal.read()).entries.length, 1);
    });

    it(UNAVAILABLE, () =>
      assertNeverMissing(driver, {
        fill: (journal) => appended(journal, "kept"),
        ask: (journal) => [
          journal.read().then(({ problems }) => ({ ...problems[0], status: problems[0]?.type })),
          journal.append("more"),
        ],
      }),
    );

    it("goes on above the numbers of an earlier writer", async () => {
      const place = await driver.createPlace();
      const first = await appended(place.open(), "first");
      const second = await appended(place.open(), "second");
      assert.ok(second > first);
      const { entries } = await place.open().read();
      assert.deepEqual(
        entries.map((entry) => entry.value),
        ["first", "second"],
      );
    });

    it("keeps every entry of two writers at the same time, each in its own order", async () => {
      const place = await driver.createPlace();
      const writers = [place.open(), place.open()];
      const all = writers.flatMap((journal, writer) =>
        Array.from({ length: 50 }, (_, index) => appended(journal, { writer, index })),
      );
      await Promise.all(all);
      const { entries, problems } = await place.open().read();
      assert.deepEqual(problems, []);
      assert.equal(new Set(entries.map((entry) => `${entry.sequence} ${entry.writer}`)).size, 100);
      for (const writer of [0, 1]) {
        const written = entries.map((entry) => entry.value as { writer: number; index: number });
        const indexes = written.filter((value) => value.writer === writer).map((value) => value.index);
        assert.deepEqual(
          indexes,
          Array.from({ length: 50 }, (_, index) => index),
        );
      }
      assert.deepEqual(await place.open().read(), { entries, problems });
    });
  });
}

async function appended(journal: Journal, value: unknown): Promise<number> {
  const outcome = await journal.append(value);
  if (outcome.status === "failed") assert.fail(`${outcome.code}: ${outcome.reason}`);
  return outcome.sequence;
}

const entryValues: readonly unknown[] = [
  null,
  false,
  0,
  "",
  "line\nbreak \0 \u2028 😀 \ud800",
  [],
  {},
  { v: 2, n: "x", e: null, r: "handle", c: 0 },
  JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
  ',"c":123}',
  { deep: [{ er: [[["x"]]] }] },
];
