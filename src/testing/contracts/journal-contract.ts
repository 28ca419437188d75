import assert from "node:assert/strict";
import type { Journal } from "../../session/journal.ts";
import type { DriverUnderTest, TestRunner } from "./test-runner.ts";

/** Tests that a driver keeps the contract of the port Journal. */
export function journalContract({ describe, it }: TestRunner, driver: DriverUnderTest<Journal>): void {
  describe(`${driver.name} as a Journal`, () => {
    it("is empty at first, without problems", async () => {
      const journal = (await driver.createPlace()).open();
      assert.deepEqual(await journal.read(), { entries: [], problems: [] });
    });

    it("reads back every value in the order of the calls, under growing numbers", async () => {
      const journal = (await driver.createPlace()).open();
      const sequences = await Promise.all(values.map((value) => appended(journal, value)));
      assert.deepEqual(
        sequences,
        [...new Set(sequences)].sort((a, b) => a - b),
      );
      const { entries, problems } = await journal.read();
      assert.deepEqual(problems, []);
      assert.deepEqual(
        entries.map((entry) => entry.value),
        values,
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

const values: readonly unknown[] = [
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
