import type { JournalContent } from "../../session/journal.ts";
import type { StoreFailure } from "../files/store-failure.ts";
import { JOURNAL_COLUMNS, type JournalRow, journalContent, journalProblem } from "./journal-rows.ts";
import type { Connection, PostgresDatabase } from "./postgres-database.ts";
import { textKey } from "./text-key.ts";

/** A log that somebody else writes, looked at again and again. */
export interface FollowedJournal {
  /** Everything in it, or undefined when it is as it was at the last look. Never throws. */
  look(): Promise<JournalContent | undefined>;
}

/** Looks at a session's log and fetches only the entries that were not there before; a look without news costs one statement. */
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

  /** Each writer counts for itself, so what is new is told by the writer and its number. */
  async function rowsAfter(connection: Connection, after: ReadonlyMap<string, Seen>): Promise<JournalRow[]> {
    const text = `
      select ${JOURNAL_COLUMNS} from ${entries}
      left join unnest($2::uuid[], $3::bigint[]) as known (writer, last) using (writer)
      where key = $1 and (last is null or sequence > last)`;
    const values = [key, [...after.keys()], [...after.values()].map(({ last }) => last)];
    return [...(await connection.rows<JournalRow>(text, values))];
  }

  async function news(connection: Connection): Promise<readonly JournalRow[] | undefined> {
    const written = await writers(connection);
    if (written.length === seen.size && written.every((each) => isSeen(each, seen))) return undefined;
    const all = [...known, ...(await rowsAfter(connection, seen))];
    // A write whose answer was lost may come late, below a number that was read already; and a log may be removed.
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
      const rows = await database.use(news);
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

/** True when there are as many of each writer as there must be; more may have come since. */
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
