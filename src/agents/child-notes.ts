import { join } from "node:path";
import type { HostValue } from "../plugin/host/agent-host.ts";
import { projectFolder } from "../plugin/stores/folders.ts";
import { createFileRecordStore } from "../stores/files/record-store.ts";
import { textOrJson } from "../text/json.ts";
import { asNumber, asObject, asString } from "../text/unknown-value.ts";

/**
 * What an agent does not keep of the children's sessions: under which session one hangs, and our note on it.
 * One small record each, beside those of the forks, so that `carryover purge` finds them.
 */
export interface ChildNotes {
  of(sessionId: string): Promise<NotedChild | undefined>;
  list(): Promise<readonly NotedChild[]>;
  add(child: NotedChild): Promise<HostValue<void>>;
  set(sessionId: string, change: Partial<Pick<NotedChild, "note" | "own">>): Promise<HostValue<void>>;
  remove(sessionId: string): Promise<void>;
}

export interface NotedChild {
  readonly sessionId: string;
  readonly rootSessionId: string;
  readonly note: unknown;
  /** The agents that may not do less than the child, beside its own. */
  readonly callers: readonly string[];
  readonly atMs: number;
  /** What only the adapter looks into. */
  readonly own?: unknown;
}

export function createChildNotes({ agent, forks, directory }: ChildNotesPlace): ChildNotes {
  const schema = `${agent}-child/1`;
  const store = createFileRecordStore({
    root: join(forks, projectFolder(`${agent} children ${directory}`)),
  });
  const readChild = (value: unknown) => readNotedChild(value, schema);

  async function read(sessionId: string) {
    const found = await store.get(sessionId);
    return found.status === "found"
      ? { child: readChild(found.value), state: found.version }
      : { child: undefined, state: found.status === "failed" ? undefined : found.status };
  }

  async function write(child: NotedChild): Promise<HostValue<void>> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const { state } = await read(child.sessionId);
      if (state === undefined) break;
      const value = { schema, ...child };
      const stored = await store.put({ id: child.sessionId, value, expected: state });
      if (stored.status === "stored") return { status: "ok", value: undefined };
      if (stored.status === "failed") return { status: "failed", code: "refused", reason: stored.reason };
    }
    return { status: "failed", code: "refused", reason: "the note on the child could not be kept" };
  }

  return {
    of: async (sessionId) => (await read(sessionId)).child,
    async list() {
      const listed = await store.list();
      return listed.status === "failed" ? [] : listed.records.flatMap(({ value }) => readChild(value) ?? []);
    },
    add: write,
    async set(sessionId, change) {
      const { child } = await read(sessionId);
      if (child === undefined) return { status: "failed", code: "missing", reason: "it is no child of ours" };
      return write({ ...child, ...change });
    },
    async remove(sessionId) {
      const { child, state } = await read(sessionId);
      if (child !== undefined && state !== undefined) await store.delete(sessionId, state);
    },
  };
}

interface ChildNotesPlace {
  /** The agent's name among those of our adapters. */
  readonly agent: string;
  /** The folder of the forks' records. */
  readonly forks: string;
  readonly directory: string;
}

const MAX_ATTEMPTS = 20;

function readNotedChild(value: unknown, wanted: string): NotedChild | undefined {
  const { schema, sessionId, rootSessionId, note, callers, atMs, own } = asObject(value);
  const id = asString(sessionId);
  const root = asString(rootSessionId);
  if (schema !== wanted || id === undefined || root === undefined) return undefined;
  return {
    sessionId: id,
    rootSessionId: root,
    note,
    callers: Array.isArray(callers) ? callers.map(textOrJson) : [],
    atMs: asNumber(atMs) ?? 0,
    ...(own !== undefined && { own }),
  };
}
