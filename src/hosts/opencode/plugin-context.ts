import type { Journal } from "../../session/journal.ts";
import type { RedactOptions } from "../../text/redact-secrets.ts";
import type { SpillStore } from "../../tool-output/spill-store.ts";
import type { HostCalls } from "./host-calls.ts";
import type { Notify } from "./notify.ts";
import { openPluginStores } from "./open-plugin-stores.ts";
import { hostConfigFolder, type PluginFolders, pluginFolders } from "./plugin-folder.ts";
import type { PluginOptions } from "./plugin-options.ts";
import { isDatabase, type PluginStores } from "./plugin-stores.ts";
import { createRecentMap } from "./recent-map.ts";
import { createSessionTree, type SessionTree } from "./session-tree.ts";

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
export interface JournalRecord {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface PluginContextOptions {
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
  const journals = createRecentMap<string, Journal>(MAX_JOURNALS);
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
