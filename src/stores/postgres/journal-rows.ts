import type { JournalContent, JournalEntry, JournalProblem } from "../../session/journal.ts";
import type { StoreFailure } from "../files/store-failure.ts";

/** An entry of a log as it is stored. */
export interface JournalRow {
  readonly sequence: number;
  readonly writer: string;
  readonly value: string;
}

/** The columns of a `JournalRow`. */
export const JOURNAL_COLUMNS = "sequence::float8 as sequence, writer, value";

/** What rows in the order of their numbers and writers say, and what of them cannot be read. */
export function journalContent(rows: readonly JournalRow[]): JournalContent {
  const entries: JournalEntry[] = [];
  const problems: JournalProblem[] = [];
  for (const { sequence, writer, value } of rows) {
    try {
      entries.push({ sequence, writer, value: JSON.parse(value) as unknown });
    } catch {
      const reason = `the value of entry ${sequence} is not JSON`;
      problems.push({ type: "bad-line", place: PLACE, code: "NOT_JSON", reason });
    }
  }
  return { entries, problems };
}

/** Why a log could not be read at all. */
export function journalProblem({ code, reason }: StoreFailure): JournalProblem {
  return { type: "failed", place: PLACE, code, reason };
}

const PLACE = "postgres";
