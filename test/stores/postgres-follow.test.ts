import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { JournalContent } from "../../src/session/journal.ts";
import { postgresForTests } from "./postgres-place.ts";

const postgres = await postgresForTests();

const valuesOf = (content: JournalContent | undefined): readonly unknown[] | undefined =>
  content?.entries.map(({ value }) => value);

describe.skipIf(postgres === undefined)("a log in a database that is followed", () => {
  function start() {
    const schema = postgres?.newSchema() ?? "";
    const open = () => postgres?.open(schema) ?? fail();
    const run = (sql: string) => postgres?.server.run(sql.replaceAll("SCHEMA", `"${schema}"`));
    return { writer: open().journal("ses_1"), open, followed: open().follow("ses_1"), run };
  }

  it("gives everything at first, what is new later, and nothing when nothing is", async () => {
    const { writer, followed } = start();
    expect(await followed.look()).toEqual({ entries: [], problems: [] });
    expect(await followed.look()).toBeUndefined();
    await writer.append("one");
    await writer.append("two");
    expect(valuesOf(await followed.look())).toEqual(["one", "two"]);
    expect(await followed.look()).toBeUndefined();
    await writer.append({ three: 3 });
    expect(valuesOf(await followed.look())).toEqual(["one", "two", { three: 3 }]);
  });

  it("is the log as a reader has it, whatever writers do at the same time", async () => {
    const { open, followed } = start();
    const writers = [0, 1, 2].map(() => open().journal("ses_1"));
    for (let round = 0; round < 6; round += 1) {
      const writing = writers.flatMap((journal, writer) =>
        Array.from({ length: 1 + ((round + writer) % 4) }, (_, index) =>
          journal.append({ writer, round, index }),
        ),
      );
      await followed.look();
      await Promise.all(writing);
    }
    await followed.look();
    const last = await open().journal("ses_1").append("last");
    expect(last.status).toBe("appended");
    expect(await followed.look()).toEqual(await open().journal("ses_1").read());
  });

  it("finds an entry that came late under a lower number", async () => {
    const { writer, open, followed, run } = start();
    await writer.append("first");
    await writer.append("third");
    await followed.look();
    await run(
      "insert into SCHEMA.journal_entries (key, sequence, writer, value) select key, 0, writer, '\"zeroth\"' from SCHEMA.journal_entries limit 1",
    );
    expect(valuesOf(await followed.look())).toEqual(["zeroth", "first", "third"]);
    expect(await followed.look()).toBeUndefined();
    expect((await open().journal("ses_1").read()).entries).toHaveLength(3);
  });

  it("is empty again once it was removed, and says what cannot be read", async () => {
    const { writer, followed, run } = start();
    await writer.append("one");
    await followed.look();
    const writerId = randomUUID();
    await run(
      `insert into SCHEMA.journal_entries (key, sequence, writer, value) select key, 9, '${writerId}', 'no json' from SCHEMA.journals`,
    );
    expect(await followed.look()).toMatchObject({
      entries: [{ value: "one" }],
      problems: [{ code: "NOT_JSON" }],
    });
    await run("delete from SCHEMA.journals");
    expect(await followed.look()).toEqual({ entries: [], problems: [] });
  });

  it("says once that the server does not answer, and goes on when it does", async () => {
    const schema = postgres?.newSchema() ?? "";
    const stores = postgres?.open(schema, { retryMs: 0 }) ?? fail();
    const writer = postgres?.open(schema).journal("ses_1") ?? fail();
    await writer.append("one");
    const followed = stores.follow("ses_1");
    expect(valuesOf(await followed.look())).toEqual(["one"]);
    await postgres?.server.kill();
    expect(await followed.look()).toMatchObject({
      entries: [{ value: "one" }],
      problems: [{ type: "failed" }],
    });
    await expect.poll(() => followed.look(), { timeout: 20_000 }).toBeUndefined();
    await postgres?.server.restart();
    await expect.poll(() => followed.look(), { timeout: 20_000 }).toMatchObject({ problems: [] });
    await writer.append("two");
    expect(valuesOf(await followed.look())).toEqual(["one", "two"]);
  });
});

function fail(): never {
  throw new Error("no server");
}
