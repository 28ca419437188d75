import { type HostCalls, type Notify, sessionPath } from "../../hosts/opencode/calls.ts";
import { deletedSession, type HostEvent } from "../../hosts/opencode/hooks.ts";
import type { Journal } from "../../session/journal.ts";
import { asObject, asString } from "../../text/json.ts";
import type { RedactOptions } from "../../text/secrets/redact-secrets.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import { hostConfigFolder, type PluginFolders, pluginFolders } from "../stores/folders.ts";
import { createLruMap } from "../stores/lru-map.ts";
import { openPluginStores } from "../stores/open-stores.ts";
import { isDatabase, type PluginStores } from "../stores/plugin-stores.ts";
import type { PluginOptions } from "./options.ts";

/** What every feature of the plugin works with. */
export interface PluginContext {
  readonly options: PluginOptions;
  readonly directory: string;
  readonly calls: HostCalls;
  readonly notify: Notify;
  /** Where files are kept; with a database only what belongs to this home. */
  readonly folders: PluginFolders;
  readonly stores: PluginStores;
  readonly spills: SpillStore;
  /** The usual secrets, and those of the option `redact`. */
  readonly redaction: RedactOptions;
  readonly tree: SessionTree;
  /** Headless: nobody is there to answer a permission ask. */
  readonly attendance: "attended" | "headless";
  /** Where the present time comes from, in milliseconds. */
  readonly now: () => number;
  /** Writes to the log of the root session that this one belongs to; a failed write is logged, never thrown. */
  record(sessionId: string, entry: JournalRecord): void;
  /** The log of one root session. */
  journal(rootSessionId: string): Journal;
}

/** One line of the plugin's journal; `inspect --live` reads nothing else. */
interface JournalRecord {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface PluginContextOptions {
  readonly options: PluginOptions;
  readonly directory: string;
  readonly calls: HostCalls;
  readonly notify: Notify;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly attendance?: PluginContext["attendance"];
  readonly now?: () => number;
}

export function createPluginContext(setup: PluginContextOptions): PluginContext {
  const { options, directory, calls, notify, env, attendance = "attended", now = Date.now } = setup;
  const { store } = options;
  const folders = pluginFolders({ store: store !== undefined && isDatabase(store) ? undefined : store, env });
  const packageFolders = [directory, hostConfigFolder(env)];
  const stores = openPluginStores({ store, folders, now, packageFolders });
  const tree = createSessionTree(calls);
  const journals = createLruMap<string, Journal>(MAX_JOURNALS);
  const journal = (rootSessionId: string): Journal => {
    const known = journals.get(rootSessionId);
    if (known !== undefined) return known;
    const made = stores.journal(rootSessionId);
    journals.set(rootSessionId, made);
    return made;
  };
  return {
    options,
    directory,
    calls,
    notify,
    folders,
    stores,
    spills: stores.spills,
    redaction: {
      extraRules: options.redact.map((source) => ({ type: "own", pattern: new RegExp(source, "g") })),
    },
    tree,
    attendance,
    now,
    journal,
    record(sessionId, entry) {
      const atMs = now();
      const write = async (): Promise<void> => {
        const written = await journal(await tree.rootOf(sessionId)).append({ atMs, sessionId, ...entry });
        if (written.status === "failed") notify.log("warn", `journal not written: ${written.reason}`);
      };
      write().catch((cause: unknown) =>
        notify.log("error", "journal not written", { type: entry.type, cause: String(cause) }),
      );
    },
  };
}

/** One that was forgotten is opened again, and goes on in a file of its own. */
const MAX_JOURNALS = 256;

/** Which session hangs under which, as far as the host has told; asked only once for each that was used lately. */
interface SessionTree {
  /** The session itself when it has no parent or cannot be asked for. */
  rootOf(sessionId: string): Promise<string>;
  parentOf(sessionId: string): Promise<string | undefined>;
  observe(event: HostEvent): void;
}

export function createSessionTree(calls: HostCalls): SessionTree {
  const parents = createLruMap<string, Promise<string | undefined>>(MAX_SESSIONS);
  const parentOf = (sessionId: string): Promise<string | undefined> => {
    const known = parents.get(sessionId);
    if (known !== undefined) return known;
    const asked = calls.call("GET", sessionPath(sessionId)).then((answer) => {
      if (answer.status === "failed") {
        parents.delete(sessionId);
        return undefined;
      }
      return asString(asObject(answer.body).parentID);
    });
    parents.set(sessionId, asked);
    return asked;
  };
  return {
    parentOf,
    async rootOf(sessionId) {
      const seen = new Set<string>();
      for (let id = sessionId; ; ) {
        seen.add(id);
        const parent = await parentOf(id);
        if (parent === undefined || seen.has(parent)) return id;
        id = parent;
      }
    },
    observe(event) {
      const deleted = deletedSession(event);
      if (deleted !== undefined) parents.delete(deleted);
      if (event.type !== "session.created" && event.type !== "session.updated") return;
      const { id, parentID } = asObject(event.properties.info);
      if (typeof id === "string") parents.set(id, Promise.resolve(asString(parentID)));
    },
  };
}

const MAX_SESSIONS = 4_096;
