import { randomUUID } from "node:crypto";
import type {
  Journal,
  JournalAppended,
  JournalContent,
  JournalEntry,
  JournalFailure,
  JournalProblem,
} from "../../session/journal.ts";
import { type StoreFailure, toJson } from "../../text/failure.ts";
import { type Connection, type PostgresDatabase, storableText, textKey } from "./database.ts";

/** A journal of rows. Entries that are appended during a write are written together in the next one. */
export function createPostgresJournal(database: PostgresDatabase, session: string): Journal {
  const key = textKey(session);
  let writer = randomUUID();
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

  /** Writes a batch and returns the number of its first entry. Idempotent, since rows are keyed by writer and number. */
  async function write(batch: readonly Waiting[]): Promise<number | StoreFailure> {
    const text = `
      insert into ${database.table("journal_entries")} (key, sequence, writer, value)
      select $1, $2::bigint + position - 1, $3::uuid, value
      from unnest($4::text[]) with ordinality as given (value, position)
      on conflict do nothing`;
    let first = isStarted ? nextSequence : undefined;
    const done = await database.use(async (connection) => {
      // A second try, after a lost answer, has the numbers of the first.
      first ??= Math.max(nextSequence, await start(connection));
      return connection.rows(text, [key, first, writer, batch.map(({ json }) => json)]);
    });
    // Neither number nor writer is used again after a failure, since the rows may have been written all the same: so a
    // number that a writer lacks was written once and is gone.
    nextSequence = (first ?? nextSequence) + batch.length;
    // After a failure the log may have been deleted.
    isStarted = !("status" in done);
    if (!("status" in done)) return nextSequence - batch.length;
    writer = randomUUID();
    return done;
  }

  async function start(connection: Connection): Promise<number> {
    await connection.rows(
      `insert into ${database.table("journals")} (key, session) values ($1, $2) on conflict do nothing`,
      [key, storableText(session)],
    );
    const text = `select coalesce(max(sequence), 0)::float8 as last from ${database.table("journal_entries")} where key = $1`;
    const [row] = await connection.rows<{ readonly last: number }>(text, [key]);
    return (row?.last ?? 0) + 1;
  }

  return {
    async append(value) {
      // Serialized before waiting, since the caller may change the value.
      const json = toJson(value);
      if (typeof json !== "string") return json;
      let entry: Waiting | undefined;
      const written = new Promise<JournalAppended | JournalFailure>((settle) => {
        entry = { json, settle };
        waiting.push(entry);
        void writeAll();
      });
      const outcome = await database.inTime(written);
      // One whose time was over behind the write before it is not written any more.
      const at = entry === undefined ? -1 : waiting.indexOf(entry);
      if (at >= 0) waiting.splice(at, 1);
      return outcome;
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

/** Takes the oldest entries that fit into one statement, at least one. */
function takeBatch(waiting: Waiting[]): readonly Waiting[] {
  let count = 0;
  for (let chars = 0; count < Math.min(waiting.length, BATCH_MAX_ENTRIES); count += 1) {
    chars += waiting[count]?.json.length ?? 0;
    if (count > 0 && chars > BATCH_MAX_CHARS) break;
  }
  return waiting.splice(0, count);
}

/** A stored entry. */
interface JournalRow {
  readonly sequence: number;
  readonly writer: string;
  readonly value: string;
}

/** The columns of a `JournalRow`. */
const JOURNAL_COLUMNS = "sequence::float8 as sequence, writer, value";

/** Decodes rows that are ordered by number and writer. */
function journalContent(rows: readonly JournalRow[]): JournalContent {
  const entries: JournalEntry[] = [];
  const problems: JournalProblem[] = [];
  const lastOf = new Map<string, number>();
  for (const { sequence, writer, value } of rows) {
    const missing = sequence - (lastOf.get(writer) ?? sequence - 1) - 1;
    lastOf.set(writer, sequence);
    if (missing > 0) {
      const reason = `entry ${sequence} comes after ${missing} of its writer that are gone`;
      problems.push({ type: "missing-lines", place: PLACE, code: "GAP", reason });
    }
    try {
      entries.push({ sequence, writer, value: JSON.parse(value) as unknown });
    } catch {
      const reason = `the value of entry ${sequence} is not JSON`;
      problems.push({ type: "bad-line", place: PLACE, code: "NOT_JSON", reason });
    }
  }
  return { entries, problems };
}

/** The problem of a log that could not be read at all. */
function journalProblem({ code, reason }: StoreFailure): JournalProblem {
  return { type: "failed", place: PLACE, code, reason };
}

const PLACE = "postgres";

/** A log that another process writes, polled for changes. */
export interface FollowedJournal {
  /** The whole log, or undefined if it is unchanged since the last call. Never throws. */
  look(): Promise<JournalContent | undefined>;
}

/** Polls a session's log and fetches only new entries; a poll without changes costs one statement. */
export function followPostgresJournal(database: PostgresDatabase, session: string): FollowedJournal {
  const key = textKey(session);
  const entries = database.table("journal_entries");
  let known: readonly JournalRow[] = [];
  let seen = new Map<string, Seen>();
  let isFirst = true;
  let failed: string | undefined;

  async function writers(connection: Connection): Promise<readonly Written[]> {
    const text = `
      select writer, count(*)::float8 as count, max(sequence)::float8 as last
      from ${entries} where key = $1 group by writer`;
    return connection.rows<Written>(text, [key]);
  }

  /** The rows after the last known number of each writer, since each writer counts by itself. */
  async function rowsAfter(connection: Connection, after: ReadonlyMap<string, Seen>): Promise<JournalRow[]> {
    const text = `
      select ${JOURNAL_COLUMNS} from ${entries}
      left join unnest($2::uuid[], $3::bigint[]) as known (writer, last) using (writer)
      where key = $1 and (last is null or sequence > last)`;
    const values = [key, [...after.keys()], [...after.values()].map(({ last }) => last)];
    return [...(await connection.rows<JournalRow>(text, values))];
  }

  async function readNews(connection: Connection): Promise<readonly JournalRow[] | undefined> {
    const written = await writers(connection);
    if (written.length === seen.size && written.every((each) => isSeen(each, seen))) return undefined;
    const all = [...known, ...(await rowsAfter(connection, seen))];
    // Everything is read again if a row appeared below a known number (a retried write), or if the log was deleted.
    const isWhole = written.length >= seen.size && isCounted(written, all);
    return isWhole ? all : rowsAfter(connection, new Map());
  }

  function failure(problem: StoreFailure): JournalContent | undefined {
    if (failed === problem.code) return undefined;
    failed = problem.code;
    const { entries: before, problems } = journalContent(known);
    return { entries: before, problems: [...problems, journalProblem(problem)] };
  }

  return {
    async look() {
      const rows = await database.use(readNews);
      if (rows !== undefined && "status" in rows) return failure(rows);
      if (rows === undefined && !isFirst && failed === undefined) return undefined;
      isFirst = false;
      failed = undefined;
      if (rows !== undefined) {
        known = rows.toSorted(inOrder);
        seen = seenIn(known);
      }
      return journalContent(known);
    },
  };
}

interface Seen {
  readonly count: number;
  readonly last: number;
}

interface Written extends Seen {
  readonly writer: string;
}

function isSeen({ writer, count, last }: Written, seen: ReadonlyMap<string, Seen>): boolean {
  const before = seen.get(writer);
  return before?.count === count && before.last === last;
}

/** True if there are at least as many rows of each writer as were counted. */
function isCounted(written: readonly Written[], rows: readonly JournalRow[]): boolean {
  const have = seenIn(rows);
  return (
    have.size >= written.length &&
    written.every(({ writer, count }) => (have.get(writer)?.count ?? 0) >= count)
  );
}

function seenIn(rows: readonly JournalRow[]): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const { writer, sequence } of rows) {
    const { count, last } = seen.get(writer) ?? { count: 0, last: 0 };
    seen.set(writer, { count: count + 1, last: Math.max(last, sequence) });
  }
  return seen;
}

function inOrder(one: JournalRow, other: JournalRow): number {
  return one.sequence - other.sequence || (one.writer < other.writer ? -1 : 1);
}
