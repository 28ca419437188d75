import type { Journal, JournalEntry } from "../../session/journal.ts";
import { asObject } from "../../text/unknown-value.ts";

/** The part of a root session's log that the engine writes for one session: every edit, so that a restart sends the same bytes. */
export function createEngineJournal({ journal, sessionId, now }: EngineJournalOptions): Journal {
  return {
    async append(record) {
      return (await journal()).append({ atMs: now(), sessionId, type: "engine", record });
    },
    async read() {
      const { entries, problems } = await (await journal()).read();
      const own = entries.flatMap((entry): JournalEntry[] => {
        const value = asObject(entry.value);
        return value.type === "engine" && value.sessionId === sessionId
          ? [{ ...entry, value: value.record }]
          : [];
      });
      return { entries: own, problems };
    },
  };
}

interface EngineJournalOptions {
  /** The log of the root session. */
  readonly journal: () => Promise<Journal>;
  readonly sessionId: string;
  readonly now: () => number;
}
