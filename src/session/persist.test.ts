import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { createPersistJournal, type PersistedDelta, type Persistence } from "./persist.ts";

const change = (name: string) => ({ v: 1, type: "step", name });
const snapshot = { v: 2, type: "snapshot", state: {}, ledger: [] };

/** A table that fails or hangs as it is told. */
function table(rows: unknown[] = []) {
  let mode: "well" | "throws" | "hangs" | "lands, and hangs" = "well";
  const failures: string[] = [];
  const clock = createFakeClock();
  const act = async <T>(work: () => T): Promise<T> => {
    if (mode === "throws") throw new Error("connection lost");
    if (mode === "hangs") return new Promise(() => {});
    const result = work();
    return mode === "well" ? result : new Promise(() => {});
  };
  const persistence: Persistence = {
    load: () => act(() => [...rows]),
    append: (delta) => act(() => void rows.push(structuredClone(delta))),
  };
  return {
    rows,
    clock,
    failures,
    open: () => createPersistJournal(persistence, { clock, onFailure: (message) => failures.push(message) }),
    now(next: typeof mode): void {
      mode = next;
    },
  };
}

const names = (content: { readonly entries: readonly { readonly value: unknown }[] }): unknown[] =>
  content.entries.map(({ value }) => (value as { name?: string; type: string }).name ?? "snapshot");

describe("what is persisted", () => {
  it("is read back in its order, by whoever opens it next, and a snapshot stands for all before it", async () => {
    const { open, rows } = table();
    const first = open();
    await first.read();
    for (const name of ["a", "b"]) await first.append(change(name));
    const second = open();
    expect(names(await second.read())).toEqual(["a", "b"]);
    await second.append(snapshot);
    await second.append(change("c"));
    expect(names(await open().read())).toEqual(["snapshot", "c"]);
    rows.splice(0, 2);
    expect(await open().read()).toMatchObject({ problems: [] });
    expect(names(await open().read())).toEqual(["snapshot", "c"]);
    expect(rows.reverse().map((row) => (row as PersistedDelta).number)).toEqual([4, 3]);
    expect(names(await open().read())).toEqual(["snapshot", "c"]);
  });

  it.each(["throws", "hangs", "lands, and hangs"] as const)(
    "is given again with the next when the database %s: nothing is lost, nobody waits twice, one warning",
    async (mode) => {
      const { open, now, clock, failures } = table();
      const journal = open();
      await journal.read();
      await journal.append(change("a"));
      now(mode);
      const startedAt = clock.now();
      await clock.runUntilDone(journal.append(change("b")));
      const waitedMs = clock.now() - startedAt;
      expect(waitedMs).toBe(mode === "throws" ? 0 : 5_000);
      await journal.append(change("c"));
      expect(clock.now() - startedAt).toBe(waitedMs);
      await clock.advance(60_000);
      expect(failures).toHaveLength(1);
      now("well");
      journal.retry();
      await clock.advance(60_000);
      await journal.append(change("d"));
      expect(names(await open().read())).toEqual(["a", "b", "c", "d"]);
      expect(await open().read()).toMatchObject({ problems: [] });
    },
  );

  it("waits in one snapshot instead of many changes while nothing can be kept", async () => {
    const { open, now, rows, clock } = table();
    const journal = open();
    await journal.read();
    now("throws");
    for (let count = 0; count < 50; count++) await journal.append(change(`${count}`));
    await journal.append(snapshot);
    await clock.advance(1_000);
    now("well");
    await journal.append(change("after"));
    await clock.advance(1_000);
    expect(rows.length).toBeLessThan(4);
    expect(names(await open().read())).toEqual(["snapshot", "after"]);
  });

  it("begins anew where it could not be loaded, and says so", async () => {
    const { open, now, clock, failures } = table();
    const first = open();
    await first.read();
    await first.append(change("old"));
    now("hangs");
    const second = open();
    expect(await clock.runUntilDone(second.read())).toMatchObject({
      entries: [],
      problems: [{ type: "failed" }],
    });
    now("well");
    await second.append(change("new"));
    await clock.advance(60_000);
    expect(names(await open().read())).toEqual(["snapshot", "new"]);
    expect(failures).toEqual(["What was persisted could not be loaded: no answer within 5000 ms"]);
  });

  it("leaves out what a process appended too late, after another one had gone on", async () => {
    const { open, rows } = table();
    const late = open();
    await late.read();
    await late.append(change("a"));
    const next = open();
    await next.read();
    await next.append(change("b"));
    await late.append(change("late"));
    expect(rows).toHaveLength(3);
    expect(names(await open().read())).toEqual(["a", "b"]);
  });

  it.each([
    ["half of a value", '{"type":"change","num'],
    ["nothing", null],
    ["a value of somebody else", { type: "change", number: "7", writer: 1, record: {} }],
  ])("is reported where it cannot be read, and the rest counts: %s", async (_, row) => {
    const { open, rows } = table();
    const journal = open();
    await journal.read();
    await journal.append(change("a"));
    rows.push(row);
    expect(await open().read()).toMatchObject({ problems: [{ type: "bad-line", line: 2 }] });
    const next = open();
    await next.read();
    await next.append(change("b"));
    expect(names(await open().read())).toEqual(["a", "b"]);
    rows.splice(0, 1);
    expect((await open().read()).problems.map(({ type }) => type)).toEqual(["bad-line", "missing-lines"]);
  });

  it("may be rows of JSON text", async () => {
    const { open, rows } = table();
    const journal = open();
    await journal.read();
    await journal.append(change("a"));
    rows[0] = JSON.stringify(rows[0]);
    expect(names(await open().read())).toEqual(["a"]);
  });
});
