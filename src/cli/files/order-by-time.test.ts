import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../testing/notation.ts";
import { orderByTime } from "./write-file.ts";

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
