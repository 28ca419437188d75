import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { createPersistJournal, type PersistedDelta, type Persistence } from "./persist.ts";

const change = (name: string) => ({ v: 1, type: "step", name });
const snapshot = { v: 2, type: "snapshot", state: {}, ledger: [] };

/** A table that fails or hangs as it is told. */
function table(rows: unknown[] = []) {
  let mode: "well" | "throws" | "hangs" | "lands, and hangs" = "well";
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
    open: () => createPersistJournal(persistence, { clock }),
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
    "counts a snapshot in place of what a database %s on, and that once",
    async (mode) => {
      const { open, now } = table();
      const journal = open();
      await journal.read();
      await journal.append(change("a"));
      now(mode);
      void journal.append(change("b")).catch(() => undefined);
      await Promise.resolve();
      now("well");
      await journal.append(snapshot);
      await journal.append(change("c"));
      expect(names(await open().read())).toEqual(["snapshot", "c"]);
      expect(await open().read()).toMatchObject({ problems: [] });
    },
  );

  it("does not count what comes late behind the snapshot in its place", async () => {
    const rows: PersistedDelta[] = [];
    const { clock } = table();
    let land = (): void => {};
    const slow = (delta: PersistedDelta): Promise<void> =>
      new Promise((resolve) => {
        land = () => resolve(void rows.push(delta));
      });
    let keep: Persistence["append"] = slow;
    const journal = createPersistJournal({ load: () => rows, append: (delta) => keep(delta) }, { clock });
    await journal.read();
    const late = journal.append(change("slow"));
    keep = (delta) => void rows.push(delta);
    await journal.append(snapshot);
    land();
    await late;
    expect(rows.map(({ type }) => type)).toEqual(["snapshot", "change"]);
    expect(names(await journal.read())).toEqual(["snapshot"]);
  });

  it("begins anew where it could not be loaded, and says so", async () => {
    const { open, now, clock } = table();
    const first = open();
    await first.read();
    await first.append(change("old"));
    now("hangs");
    const second = open();
    const startedAt = clock.now();
    expect(await clock.runUntilDone(second.read())).toMatchObject({
      entries: [],
      problems: [{ type: "failed", reason: "no answer within 2000 ms" }],
    });
    expect(clock.now() - startedAt).toBe(2_000);
    now("well");
    await second.append(change("new"));
    expect(names(await open().read())).toEqual(["snapshot", "new"]);
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
