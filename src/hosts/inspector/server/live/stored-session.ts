import { type Fields, fields, numberField, stringField } from "../../../../formats/fields.ts";
import type { SessionExport, SessionMessage } from "../../../../formats/opencode/session-message.ts";

/** Reads a session out of OpenCode's database again and again, each time only what has changed since. */
export interface StoredSession {
  /** The session as it is now; undefined when the database does not have it. Throws when the database cannot be asked. */
  read(): Promise<SessionExport | undefined>;
}

/** Answers a query with rows, as `opencode db --format json` does. */
export type AskDatabase = (sql: string) => Promise<readonly unknown[]>;

export function createStoredSession(sessionId: string, ask: AskDatabase): StoredSession {
  // The id goes into a query.
  if (!/^[\w-]+$/.test(sessionId)) throw new Error(`${sessionId} is no id of a session`);
  let messages = new Map<string, Row>();
  let parts = new Map<string, Row>();
  let head: Row | undefined;
  let newestMs = 0;

  async function take(sinceMs: number): Promise<boolean> {
    let counts: Row | undefined;
    for (const value of await ask(changesSince(sessionId, sinceMs))) {
      const row = rowOf(fields(value));
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

function rowOf({ kind, id, owner, created, updated, data }: Fields): Row {
  return {
    kind: stringField(kind) ?? "",
    id: stringField(id) ?? "",
    owner: stringField(owner) ?? "",
    created: numberField(created) ?? 0,
    updated: numberField(updated) ?? 0,
    data: stringField(data) ?? "",
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

function dataOf(json: string): Fields {
  try {
    return fields(JSON.parse(json));
  } catch {
    return {};
  }
}
