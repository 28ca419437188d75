import { setTimeout as sleep } from "node:timers/promises";
import type { SessionExport, SessionMessage } from "../../../formats/wires/opencode/decode-messages.ts";
import { runningPlugins } from "../../../plugin/stores/control-store.ts";
import { fingerprintOfFiles } from "../../../plugin/stores/file-stores.ts";
import { pluginJournal } from "../../../plugin/stores/journal.ts";
import type { PluginStores } from "../../../plugin/stores/plugin-stores.ts";
import { isHeld } from "../../../plugin/stores/recorded-forks.ts";
import { groupBy } from "../../../text/group-by.ts";
import { jsonOrText } from "../../../text/json.ts";
import { asNumber, asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import type { FollowedSession, StoredFile } from "./followed-session.ts";

/**
 * Polls what an agent and the plugin write, and hands every change to the session, until the signal aborts. Reads only
 * what has changed and writes nothing.
 */
export async function followAgent(session: FollowedSession, options: FollowOptions): Promise<void> {
  const { signal } = options;
  const { poll, intervalMs } = createPoller(session, options);
  await poll();
  options.onFirstRead();
  while (!signal.aborted) {
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
    // Unreadable now; the next poll may succeed.
    if (!signal.aborted)
      await poll().catch((error: Error) => session.updateProblems([`not followed: ${error.message}`]));
  }
}

interface FollowOptions {
  readonly stores: PluginStores;
  readonly rootSessionId: string;
  readonly reader: SessionReader;
  /** Files that change when the agent stores something. */
  readonly files: readonly string[];
  /** False where the plugin lives for a moment at a time, so that none is ever found running. @default true */
  readonly isResident?: boolean;
  /** What keeps the session. @default OpenCode */
  readonly agent?: string;
  readonly signal: AbortSignal;
  /** Called once, after the first poll. */
  readonly onFirstRead: () => void;
}

/** Interval of the check which plugins run. */
const RUNNING_CHECK_MS = 2_000;
/** Reading the messages starts a program, so there is a pause between two reads, which doubles while nothing is new. */
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 15_000;
/** For how long after a change the session counts as working. */
const WORKING_MS = 10_000;

function createPoller(
  session: FollowedSession,
  options: FollowOptions,
): { readonly intervalMs: number; poll(): Promise<void> } {
  const { stores, rootSessionId, reader, files, isResident = true, agent = "OpenCode" } = options;
  const plugin = stores.follow(rootSessionId);
  let isAnyRunning = !isResident;
  let runningCheckedAtMs = Number.NEGATIVE_INFINITY;
  let databaseFingerprint = "never read";
  let isReadDue = true;
  let pauseMs = 0;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let readTookMs = 0;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  const problems = { journal: [] as readonly string[], messages: [] as readonly string[] };

  async function pollJournal(): Promise<boolean> {
    const seen = await plugin.look();
    if (seen === undefined) return false;
    const { forks } = seen;
    const journal = pluginJournal(seen.journal);
    // An incomplete last line is still being written.
    const damage = journal.problems.filter(({ type }) => type !== "torn-tail");
    problems.journal = [...damage.map(({ reason }) => `journal: ${reason}`), ...forks.problems];
    const leases = { leases: forks.leases, nowMs: stores.now() };
    return session.updateJournal(
      journal.entries,
      [...forks.records, ...forks.elsewhere].map((record) => ({ record, isHeld: isHeld(record, leases) })),
    );
  }

  async function pollMessages(hasJournalChanged: boolean): Promise<boolean> {
    if (hasJournalChanged) {
      isReadDue = true;
      pauseMs = MIN_PAUSE_MS;
    }
    if (performance.now() < readAtMs + Math.max(pauseMs, readTookMs * 2)) return false;
    const fingerprint = await fingerprintOfFiles(files);
    if (fingerprint === databaseFingerprint && !isReadDue) return false;
    databaseFingerprint = fingerprint;
    isReadDue = false;
    const startedAtMs = performance.now();
    let isChanged = false;
    try {
      const stored = await reader.read();
      problems.messages = stored === undefined ? [`${agent} has no session ${rootSessionId} any more`] : [];
      isChanged = stored !== undefined && session.updateMessages(stored);
    } catch (error) {
      problems.messages = [`the messages cannot be read: ${(error as Error).message}`];
    }
    readAtMs = performance.now();
    readTookMs = readAtMs - startedAtMs;
    // Reading may itself touch the files, so a read that found nothing new doubles the pause.
    pauseMs = isChanged ? MIN_PAUSE_MS : Math.min(Math.max(MIN_PAUSE_MS, pauseMs * 2), MAX_PAUSE_MS);
    return isChanged;
  }

  async function pollRunning(): Promise<void> {
    if (!isResident || performance.now() - runningCheckedAtMs < RUNNING_CHECK_MS) return;
    runningCheckedAtMs = performance.now();
    // Keep the last answer when the store does not respond.
    const running = await runningPlugins(stores.control);
    if (running !== undefined) isAnyRunning = running.length > 0;
  }

  return {
    intervalMs: plugin.lookMs,
    async poll() {
      const isJournalNew = await pollJournal();
      const areMessagesNew = await pollMessages(isJournalNew);
      if (isJournalNew || areMessagesNew) changedAtMs = performance.now();
      session.updateProblems([...problems.journal, ...problems.messages]);
      const isWorking = performance.now() - changedAtMs < WORKING_MS;
      await pollRunning();
      session.updateActivity(isAnyRunning ? (isWorking ? "working" : "quiet") : "ended");
    },
  };
}

/** Reads a session as its agent keeps it. */
export interface SessionReader<Stored = SessionExport | StoredFile> {
  /** The current session; undefined when the agent does not have it. Throws when reading fails. */
  read(): Promise<Stored | undefined>;
}

/** Runs a query and gives its rows, as `opencode db --format json` does. */
type QueryDatabase = (sql: string) => Promise<readonly unknown[]>;

/** Reads a session from OpenCode's database; each read queries only what changed since the one before. */
export function createSessionReader(sessionId: string, query: QueryDatabase): SessionReader<SessionExport> {
  // The id becomes part of the query.
  if (!/^[\w-]+$/.test(sessionId)) throw new Error(`${sessionId} is no id of a session`);
  let messages = new Map<string, Row>();
  let parts = new Map<string, Row>();
  let head: Row | undefined;
  let newestMs = 0;

  async function readSince(sinceMs: number): Promise<boolean> {
    let counts: Row | undefined;
    for (const value of await query(changesSince(sessionId, sinceMs))) {
      const row = rowOf(asObject(value));
      if (row.kind === "counts") counts = row;
      else if (row.kind === "session") head = row;
      else {
        (row.kind === "part" ? parts : messages).set(row.id, row);
        newestMs = Math.max(newestMs, row.updated);
      }
    }
    return counts?.created === messages.size && counts.updated === parts.size;
  }

  return {
    async read() {
      // Overlap a little: two changes can share a millisecond, and a clock can be set back.
      const isWhole = await readSince(Math.max(0, newestMs - OVERLAP_MS));
      if (!isWhole) {
        // Fewer rows than known: a message was reverted.
        [messages, parts, newestMs] = [new Map(), new Map(), 0];
        await readSince(0);
      }
      return head && exportOf(head, [...messages.values()], [...parts.values()]);
    },
  };
}

const OVERLAP_MS = 2_000;

interface Row {
  readonly kind: string;
  readonly id: string;
  /** The message of a part, the title of a session. */
  readonly owner: string;
  readonly created: number;
  readonly updated: number;
  readonly data: string;
}

function rowOf({ kind, id, owner, created, updated, data }: UnknownObject): Row {
  return {
    kind: asString(kind) ?? "",
    id: asString(id) ?? "",
    owner: asString(owner) ?? "",
    created: asNumber(created) ?? 0,
    updated: asNumber(updated) ?? 0,
    data: asString(data) ?? "",
  };
}

/** A single query, because each starts a program. Its last row counts all messages and parts. */
function changesSince(sessionId: string, sinceMs: number): string {
  const changed = `session_id = '${sessionId}' and time_updated >= ${sinceMs}`;
  const count = (table: string): string =>
    `(select count(*) from ${table} where session_id = '${sessionId}')`;
  return [
    `select 'session' as kind, id, title as owner, time_created as created, time_updated as updated, directory as data from session where id = '${sessionId}'`,
    `select 'message', id, '', time_created, time_updated, data from message where ${changed}`,
    `select 'part', id, message_id, time_created, time_updated, data from part where ${changed}`,
    `select 'counts', '', '', ${count("message")}, ${count("part")}, ''`,
  ].join(" union all ");
}

/** In OpenCode's own order: messages by time and id, parts by id. */
function exportOf(head: Row, messages: readonly Row[], parts: readonly Row[]): SessionExport {
  const sessionID = head.id;
  const byMessage = groupBy(parts.toSorted(byId), ({ owner }) => owner);
  const built = messages
    .toSorted((one, other) => one.created - other.created || byId(one, other))
    .map(({ id, data }) => ({
      info: { ...dataOf(data), id, sessionID },
      parts: (byMessage.get(id) ?? []).map((part) => ({
        ...dataOf(part.data),
        id: part.id,
        messageID: id,
        sessionID,
      })),
    }));
  return {
    info: { id: sessionID, title: head.owner, directory: head.data },
    messages: built as unknown as readonly SessionMessage[],
  };
}

function byId(one: Row, other: Row): number {
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

function dataOf(json: string): UnknownObject {
  return asObject(jsonOrText(json));
}
