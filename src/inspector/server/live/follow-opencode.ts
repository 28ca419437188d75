import { setTimeout as sleep } from "node:timers/promises";
import type { SessionExport, SessionMessage } from "../../../formats/wires/opencode/session-message.ts";
import { runningPlugins } from "../../../plugin/stores/control-store.ts";
import { pluginJournal } from "../../../plugin/stores/journal.ts";
import { fingerprintOfFiles } from "../../../plugin/stores/open-stores.ts";
import { isHeld, type PluginStores } from "../../../plugin/stores/plugin-stores.ts";
import { asNumber, asObject, asString, type UnknownObject } from "../../../text/json.ts";
import type { FollowedSession } from "./followed-session.ts";

/** Looks at what OpenCode and the plugin write until the signal says stop. Only what has changed is read; nothing is written. */
export async function followOpenCode(session: FollowedSession, options: FollowPlaces): Promise<void> {
  const { signal } = options;
  const follow = createFollower(session, options);
  await follow.look();
  options.onFirstLook();
  while (!signal.aborted) {
    await sleep(follow.lookMs, undefined, { signal }).catch(() => {});
    // What cannot be looked at now can be in a moment.
    if (!signal.aborted)
      await follow.look().catch((error: Error) => session.takeProblems([`not followed: ${error.message}`]));
  }
}

interface FollowPlaces {
  readonly stores: PluginStores;
  readonly rootSessionId: string;
  readonly stored: SessionReader;
  /** The files whose change says that OpenCode stored something. */
  readonly databaseFiles: readonly string[];
  readonly signal: AbortSignal;
  /** Called once everything has been read that was there at the beginning. */
  readonly onFirstLook: () => void;
}

/** Between two looks at who runs. */
const RUNNING_MS = 2_000;
/** A read starts a program: how long it may rest between two, at least and when nothing is new. */
const MIN_REST_MS = 1_000;
const MAX_REST_MS = 15_000;
/** What counts as working. */
const WORKING_MS = 10_000;

interface Follower {
  readonly lookMs: number;
  look(): Promise<void>;
}

function createFollower(session: FollowedSession, places: FollowPlaces): Follower {
  const { stores, rootSessionId, stored, databaseFiles } = places;
  const plugin = stores.follow(rootSessionId);
  let isAnyRunning = false;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let databaseSign = "never read";
  let isDue = true;
  let restMs = 0;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let tookMs = 0;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  const problems = { journal: [] as readonly string[], messages: [] as readonly string[] };

  async function lookAtJournal(): Promise<boolean> {
    const seen = await plugin.look();
    if (seen === undefined) return false;
    const { forks } = seen;
    const journal = pluginJournal(seen.journal);
    // An unfinished line is one that is being written.
    const damage = journal.problems.filter(({ type }) => type !== "torn-tail");
    problems.journal = [...damage.map(({ reason }) => `journal: ${reason}`), ...forks.problems];
    const question = { leases: forks.leases, nowMs: stores.now() };
    return session.takeJournal(
      journal.entries,
      [...forks.records, ...forks.elsewhere].map((record) => ({ record, isHeld: isHeld(record, question) })),
    );
  }

  async function lookAtMessages(hasJournalChanged: boolean): Promise<boolean> {
    if (hasJournalChanged) {
      isDue = true;
      restMs = MIN_REST_MS;
    }
    if (performance.now() < readAtMs + Math.max(restMs, tookMs * 2)) return false;
    const sign = await fingerprintOfFiles(databaseFiles);
    if (sign === databaseSign && !isDue) return false;
    databaseSign = sign;
    isDue = false;
    const startedAtMs = performance.now();
    let isNew = false;
    try {
      const now = await stored.read();
      problems.messages = now === undefined ? [`OpenCode has no session ${rootSessionId} any more`] : [];
      isNew = now !== undefined && session.takeMessages(now);
    } catch (error) {
      problems.messages = [`the messages cannot be read: ${(error as Error).message}`];
    }
    readAtMs = performance.now();
    tookMs = readAtMs - startedAtMs;
    // Our own reading can touch the files as well, so that no news makes it wait longer.
    restMs = isNew ? MIN_REST_MS : Math.min(Math.max(MIN_REST_MS, restMs * 2), MAX_REST_MS);
    return isNew;
  }

  async function lookWhoRuns(): Promise<void> {
    if (performance.now() - askedAtMs < RUNNING_MS) return;
    askedAtMs = performance.now();
    // A store that does not answer does not say that nobody runs.
    isAnyRunning = ((await runningPlugins(stores.control))?.length ?? (isAnyRunning ? 1 : 0)) > 0;
  }

  return {
    lookMs: plugin.lookMs,
    async look() {
      const isJournalNew = await lookAtJournal();
      const areMessagesNew = await lookAtMessages(isJournalNew);
      if (isJournalNew || areMessagesNew) changedAtMs = performance.now();
      session.takeProblems([...problems.journal, ...problems.messages]);
      const isWorking = performance.now() - changedAtMs < WORKING_MS;
      await lookWhoRuns();
      session.takeActivity(isAnyRunning ? (isWorking ? "working" : "quiet") : "ended");
    },
  };
}

/** Reads a session out of OpenCode's database again and again, each time only what has changed since. */
interface SessionReader {
  /** The session as it is now; undefined when the database does not have it. Throws when the database cannot be asked. */
  read(): Promise<SessionExport | undefined>;
}

/** Answers a query with rows, as `opencode db --format json` does. */
type QueryDatabase = (sql: string) => Promise<readonly unknown[]>;

export function createSessionReader(sessionId: string, ask: QueryDatabase): SessionReader {
  // The id goes into a query.
  if (!/^[\w-]+$/.test(sessionId)) throw new Error(`${sessionId} is no id of a session`);
  let messages = new Map<string, Row>();
  let parts = new Map<string, Row>();
  let head: Row | undefined;
  let newestMs = 0;

  async function take(sinceMs: number): Promise<boolean> {
    let counts: Row | undefined;
    for (const value of await ask(changesSince(sessionId, sinceMs))) {
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
      // Two changes can have the same millisecond, and a clock can be set back a little.
      const isWhole = await take(Math.max(0, newestMs - OVERLAP_MS));
      if (!isWhole) {
        // Something is gone: a message was taken back.
        [messages, parts, newestMs] = [new Map(), new Map(), 0];
        await take(0);
      }
      return head && exportOf({ head, messages: [...messages.values()], parts: [...parts.values()] });
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

/** One query, since each starts a program; the last row says how many of each there are. */
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

interface Rows {
  readonly head: Row;
  readonly messages: readonly Row[];
  readonly parts: readonly Row[];
}

/** In the order of the host: messages by time and id, parts by id. */
function exportOf({ head, messages, parts }: Rows): SessionExport {
  const sessionID = head.id;
  const byMessage = new Map<string, Row[]>();
  for (const part of parts.toSorted(byId)) {
    const siblings = byMessage.get(part.owner);
    if (siblings === undefined) byMessage.set(part.owner, [part]);
    else siblings.push(part);
  }
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
  try {
    return asObject(JSON.parse(json));
  } catch {
    return {};
  }
}
