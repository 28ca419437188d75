import type { Journal } from "../../session/journal.ts";
import { toJson } from "../../text/failure.ts";

/**
 * This room has the drivers of four ports: `OutputStore` (long outputs), `Journal` (the log of a session),
 * `RecordStore` (versioned records) and `Clock`. The first three exist in memory (here), in files (`files/`) and in
 * PostgreSQL (`postgres/stores.ts`), and all of them pass the same contract tests. Drivers do not throw: a failure is a
 * value.
 */

/** A journal in memory. */
export function createMemoryJournal(): Journal {
  const lines: string[] = [];
  return {
    async append(value) {
      const json = toJson(value);
      if (typeof json !== "string") return json;
      lines.push(json);
      return { status: "appended", sequence: lines.length };
    },
    async read() {
      const entries = lines.map((json, index) => ({
        sequence: index + 1,
        writer: "memory",
        value: JSON.parse(json) as unknown,
      }));
      return { entries, problems: [] };
    },
  };
}
