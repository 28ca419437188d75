import { describe, expect, it } from "vitest";
import { createSessionReader } from "./follow-opencode.ts";

interface StoredRow {
  readonly kind: "message" | "part";
  readonly id: string;
  readonly owner: string;
  readonly created: number;
  readonly updated: number;
  readonly data: string;
}

/** A database that holds rows, answers as the real one does, and remembers from when on it was asked. */
function fakeDatabase() {
  const rows = new Map<string, StoredRow>();
  const askedSinceMs: number[] = [];
  return {
    askedSinceMs,
    put: (row: StoredRow) => void rows.set(row.id, row),
    remove: (id: string) => void rows.delete(id),
    ask: async (sql: string): Promise<readonly unknown[]> => {
      const sinceMs = Number(/time_updated >= (\d+)/.exec(sql)?.[1]);
      askedSinceMs.push(sinceMs);
      const all = [...rows.values()];
      const count = (kind: string): number => all.filter((row) => row.kind === kind).length;
      return [
        { kind: "session", id: "ses_1", owner: "The title", created: 1, updated: 1, data: "/home/dev" },
        ...all.filter(({ updated }) => updated >= sinceMs),
        { kind: "counts", id: "", owner: "", created: count("message"), updated: count("part"), data: "" },
      ];
    },
  };
}

const message = (id: string, updated: number, created = updated): StoredRow => ({
  kind: "message",
  id,
  owner: "",
  created,
  updated,
  data: '{"role":"user"}',
});
const part = (id: string, owner: string, updated: number, text: string): StoredRow => ({
  kind: "part",
  id,
  owner,
  created: updated,
  updated,
  data: JSON.stringify({ type: "text", text }),
});

describe("createStoredSession", () => {
  it("puts messages in the order of their time, and parts in the order of their ids", async () => {
    const database = fakeDatabase();
    for (const row of [
      message("msg_b", 10_000),
      message("msg_a", 20_000),
      message("msg_0", 30_000, 10_000),
      part("prt_2", "msg_b", 1, "two"),
      part("prt_1", "msg_b", 2, "one"),
    ])
      database.put(row);
    const stored = await createSessionReader("ses_1", database.ask).read();
    expect(stored?.info).toEqual({ id: "ses_1", title: "The title", directory: "/home/dev" });
    expect(stored?.messages.map(({ info }) => info.id)).toEqual(["msg_0", "msg_b", "msg_a"]);
    expect(stored?.messages[1]).toEqual({
      info: { role: "user", id: "msg_b", sessionID: "ses_1" },
      parts: [
        { type: "text", text: "one", id: "prt_1", messageID: "msg_b", sessionID: "ses_1" },
        { type: "text", text: "two", id: "prt_2", messageID: "msg_b", sessionID: "ses_1" },
      ],
    });
  });

  it("asks only for what has changed since", async () => {
    const database = fakeDatabase();
    database.put(message("msg_a", 50_000));
    database.put(part("prt_a", "msg_a", 50_000, "half"));
    const session = createSessionReader("ses_1", database.ask);
    await session.read();
    database.put(part("prt_a", "msg_a", 60_000, "whole"));
    const stored = await session.read();
    expect(stored?.messages[0]?.parts[0]).toMatchObject({ text: "whole" });
    expect(database.askedSinceMs).toEqual([0, 48_000]);
  });

  it("reads everything again when something is gone", async () => {
    const database = fakeDatabase();
    for (const id of ["msg_a", "msg_b"]) database.put(message(id, 50_000));
    const session = createSessionReader("ses_1", database.ask);
    await session.read();
    database.remove("msg_b");
    expect((await session.read())?.messages.map(({ info }) => info.id)).toEqual(["msg_a"]);
    expect(database.askedSinceMs).toEqual([0, 48_000, 0]);
  });

  it("knows when there is no such session", async () => {
    expect(await createSessionReader("ses_1", async () => []).read()).toBeUndefined();
  });

  it.each(["' or 1=1 --", "", "a;b", "a b"])("takes %j for no id", (id) => {
    expect(() => createSessionReader(id, async () => [])).toThrow("is no id of a session");
  });
});
