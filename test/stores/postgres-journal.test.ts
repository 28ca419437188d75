import { describe, expect, it } from "vitest";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();

describe.skipIf(postgres === undefined)("a log in a database", () => {
  it("keeps every entry of every wave, however many go in one write", async () => {
    const journal = postgres?.open(postgres.newSchema()).journal("s");
    const expected: number[] = [];
    for (let wave = 0; wave < 4; wave += 1) {
      const values = Array.from({ length: 20 }, (_, index) => wave * 20 + index);
      expected.push(...values);
      const outcomes = await Promise.all(values.map((value) => journal?.append(value)));
      expect(outcomes.map((outcome) => outcome?.status === "appended" && outcome.sequence)).toEqual(
        values.map((value) => value + 1),
      );
    }
    expect((await journal?.read())?.entries.map(({ value }) => value)).toEqual(expected);
  });

  it("takes long values that come at once, and what comes after them", async () => {
    const journal = postgres?.open(postgres.newSchema()).journal("s");
    const values = ["a", "b", "c", "d", "e"].map((letter) => letter.repeat(1_500_000));
    await Promise.all([...values, "short"].map((value) => journal?.append(value)));
    await journal?.append("last");
    const read = await journal?.read();
    expect(read?.entries.map(({ value }) => (value as string).slice(0, 5))).toEqual([
      ...values.map((value) => value.slice(0, 5)),
      "short",
      "last",
    ]);
  });

  it("of one session is not that of another, whatever they are called", async () => {
    const stores = postgres?.open(postgres.newSchema());
    const sessions = ["", "a", "a\0", "\ud800", "\ud801", "x".repeat(5_000)];
    for (const session of sessions) await stores?.journal(session).append(session);
    for (const session of sessions)
      expect((await stores?.journal(session).read())?.entries.map(({ value }) => value)).toEqual([session]);
  });
});
