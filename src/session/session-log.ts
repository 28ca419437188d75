import type { Clock } from "../compaction/clock.ts";
import { callWithin } from "../compaction/compact-call.ts";
import type { Journal } from "./journal.ts";
import type { SessionEvent, WarningCode } from "./session-event.ts";
import type { SessionRecord } from "./session-records.ts";

/** Where a session's records and events go: in order, none dropped, and nothing that goes wrong there stops the session. */
export interface SessionLog {
  /** Puts a record behind all earlier ones. */
  write(record: SessionRecord): void;
  /** Resolves when every record so far is safe or was reported as lost. */
  written(): Promise<void>;
  emit(event: SessionEvent): void;
  warn(code: WarningCode, message: string): void;
}

/** The log of a session. */
export function createSessionLog({ journal, clock, onEvent }: SessionLogPorts): SessionLog {
  let tail: Promise<void> = Promise.resolve();

  function emit(event: SessionEvent): void {
    try {
      onEvent?.(event);
    } catch {
      // Whoever listens is no part of the work.
    }
  }

  function warn(code: WarningCode, message: string): void {
    emit({ type: "warning", code, message });
  }

  async function append(to: Journal, record: SessionRecord): Promise<void> {
    const start = async () => to.append(record);
    const result = await callWithin({ start, limitMs: JOURNAL_LIMIT_MS, clock, signal: undefined });
    if (result.status === "done" && result.value?.status === "appended") return;
    const code =
      result.status === "done" && result.value?.status === "failed" ? result.value.code : result.status;
    warn(
      "not-journalled",
      `A ${record.type} could not be written to the journal: ${String(code).slice(0, 80)}`,
    );
  }

  return {
    write(record) {
      if (journal !== undefined) tail = tail.then(() => append(journal, record));
    },
    written: () => tail,
    emit,
    warn,
  };
}

export interface SessionLogPorts {
  readonly journal: Journal | undefined;
  readonly clock: Clock;
  readonly onEvent: ((event: SessionEvent) => void) | undefined;
}

/** A journal that has not answered by then is not waited for. */
const JOURNAL_LIMIT_MS = 10_000;
