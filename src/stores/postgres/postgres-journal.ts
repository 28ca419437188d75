import { randomUUID } from "node:crypto";
import type { Journal, JournalAppended, JournalFailure } from "../../session/journal.ts";
import type { StoreFailure } from "../files/store-failure.ts";
import { toJson } from "../to-json.ts";
import { JOURNAL_COLUMNS, type JournalRow, journalContent, journalProblem } from "./journal-rows.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { storableText, textKey } from "./text-key.ts";

/** Keeps a session's log as rows; what is appended while a write is on its way goes with the next one. */
export function createPostgresJournal(database: PostgresDatabase, session: string): Journal {
  const key = textKey(session);
  const writer = randomUUID();
  const waiting: Waiting[] = [];
  let nextSequence = 1;
  let isStarted = false;
  let isWriting = false;

  async function writeAll(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    while (waiting.length > 0) {
      const batch = takeBatch(waiting);
      const outcome = await write(batch);
      for (const [index, { settle }] of batch.entries())
        settle(typeof outcome === "number" ? { status: "appended", sequence: outcome + index } : outcome);
    }
    isWriting = false;
  }

  /** The number of the first. A writer's own name and numbers make a second try harmless. */
  async function write(batch: readonly Waiting[]): Promise<number | StoreFailure> {
    if (!isStarted) {
      const started = await start();
      if (typeof started !== "number") return started;
      nextSequence = Math.max(nextSequence, started);
      isStarted = true;
    }
    const first = nextSequence;
    // Even if it fails the rows may be there or come late, so their numbers are spent.
    nextSequence += batch.length;
    const text = `
      insert into ${database.table("journal_entries")} (key, sequence, writer, value)
      select $1, $2::bigint + position - 1, $3::uuid, value
      from unnest($4::text[]) with ordinality as given (value, position)
      on conflict do nothing`;
    const values = [key, first, writer, batch.map(({ json }) => json)];
    const done = await database.use((connection) => connection.rows(text, values));
    if (!("status" in done)) return first;
    // The log may have been removed meanwhile.
    isStarted = false;
    return done;
  }

  async function start(): Promise<number | StoreFailure> {
    return database.use(async (connection) => {
      await connection.rows(
        `insert into ${database.table("journals")} (key, session) values ($1, $2) on conflict do nothing`,
        [key, storableText(session)],
      );
      const text = `select coalesce(max(sequence), 0)::float8 as last from ${database.table("journal_entries")} where key = $1`;
      const [row] = await connection.rows<{ readonly last: number }>(text, [key]);
      return (row?.last ?? 0) + 1;
    });
  }

  return {
    append(value) {
      // Before any wait: the caller may change the value meanwhile.
      const json = toJson(value);
      if (typeof json !== "string") return Promise.resolve(json);
      return new Promise((settle) => {
        waiting.push({ json, settle });
        void writeAll();
      });
    },

    async read() {
      const text = `
        select ${JOURNAL_COLUMNS} from ${database.table("journal_entries")}
        where key = $1 order by sequence, writer`;
      const rows = await database.use((connection) => connection.rows<JournalRow>(text, [key]));
      return "status" in rows ? { entries: [], problems: [journalProblem(rows)] } : journalContent(rows);
    },
  };
}

const BATCH_MAX_CHARS = 4_000_000;
const BATCH_MAX_ENTRIES = 500;

interface Waiting {
  readonly json: string;
  readonly settle: (outcome: JournalAppended | JournalFailure) => void;
}

/** The oldest ones that go well in one statement, at least one. */
function takeBatch(waiting: Waiting[]): readonly Waiting[] {
  let count = 0;
  for (let chars = 0; count < Math.min(waiting.length, BATCH_MAX_ENTRIES); count += 1) {
    chars += waiting[count]?.json.length ?? 0;
    if (count > 0 && chars > BATCH_MAX_CHARS) break;
  }
  return waiting.splice(0, count);
}
