import { expect, it } from "vitest";
import { AT_MS, sampleFork } from "../../../test/rig/forks/fork-samples.ts";
import type { ForkRecord } from "../../fork/life/record.ts";
import type { RecordStore } from "../../fork/life/record-store.ts";
import { createMemoryRecordStore } from "../../stores/memory/record-store.ts";
import { createForkNumbers } from "./fork-numbers.ts";

function createNumbers(store: RecordStore, known: readonly ForkRecord[] = []) {
  return createForkNumbers({ store, known: () => known, now: () => AT_MS });
}

it("gives no number twice to two programs that fork one root at the same moment", async () => {
  const store = createMemoryRecordStore();
  const programs = [createNumbers(store), createNumbers(store)];
  const taken = await Promise.all(
    Array.from({ length: 20 }, (_, index) => programs[index % 2]?.take("root")),
  );
  expect(taken.toSorted((a = 0, b = 0) => a - b)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
});

it("counts each root for itself", async () => {
  const numbers = createNumbers(createMemoryRecordStore());
  expect([await numbers.take("root"), await numbers.take("other"), await numbers.take("root")]).toEqual([
    1, 1, 2,
  ]);
});

it("goes on after the forks that are stored, also if nobody kept their numbers", async () => {
  const store = createMemoryRecordStore();
  await store.put({ id: "f1", value: sampleFork({ number: 7 }), expected: "missing" });
  expect(await createNumbers(store).take("root")).toBe(8);
  expect(await createNumbers(store).take("other")).toBe(1);
});

it("goes on after the forks that are known, also if the stored number is behind", async () => {
  const store = createMemoryRecordStore();
  await createNumbers(store).take("root");
  expect(await createNumbers(store, [sampleFork({ number: 4 })]).take("root")).toBe(5);
});

it("takes a record that is none of ours for no number", async () => {
  const store = createMemoryRecordStore();
  await store.put({ id: "numbers-root", value: { newest: "odd" }, expected: "missing" });
  expect(await createNumbers(store).take("root")).toBe(1);
  expect(await createNumbers(store).take("root")).toBe(2);
});

it("gives the next number that it knows of while the store cannot be used", async () => {
  const failed = async () => ({ status: "failed", code: "ENOSPC", reason: "no space left" }) as const;
  const store: RecordStore = { get: failed, put: failed, list: failed, delete: failed };
  expect(await createNumbers(store, [sampleFork({ number: 2 })]).take("root")).toBe(3);
});
