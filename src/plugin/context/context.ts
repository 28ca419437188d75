import type { Journal } from "../../session/journal.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { type RedactOptions, redactSecrets } from "../../text/secrets/redact-secrets.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import type { AgentHost, Handlers, ModelTool, UserCommand } from "../host/agent-host.ts";
import type { ShownPiece } from "../host/host-parts.ts";
import { type PluginFolders, pluginFolders } from "../stores/folders.ts";
import { openPluginStores } from "../stores/open-stores.ts";
import { isDatabase, type PluginStores } from "../stores/plugin-stores.ts";
import { cleanFields, createNotify, type Notify } from "./notify.ts";
import type { PluginOptions } from "./options.ts";
import { createSessionTree, type SessionTree } from "./session-tree.ts";

/** What every feature of the plugin works with. */
export interface PluginContext {
  readonly host: AgentHost;
  readonly options: PluginOptions;
  readonly notify: Notify;
  /** Where files are kept; with a database only what belongs to this home. */
  readonly folders: PluginFolders;
  readonly stores: PluginStores;
  readonly outputs: OutputStore;
  /** The usual secrets, and those of the option `redact`. */
  readonly redaction: RedactOptions;
  readonly tree: SessionTree;
  /** Where the present time comes from, in milliseconds. */
  readonly now: () => number;
  readonly env: Environment;
  /** Writes to the log of the root session that this one belongs to; a failed write is logged, never thrown. */
  record(sessionId: string, entry: JournalRecord): void;
  /** Shows something in a conversation that only people see; what cannot be shown is logged. Returns at once. */
  show(piece: ShownPiece): void;
  /** The log of one root session. */
  journal(rootSessionId: string): Journal;
}

/** One line of the plugin's journal; `inspect --live` reads nothing else. */
export interface JournalRecord {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The variables of the environment that the agent runs in. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface PluginContextSetup {
  readonly host: AgentHost;
  readonly options: PluginOptions;
  readonly env: Environment;
  readonly now?: () => number;
  /** A hook lives for one moment. */
  readonly usedBy?: "plugin" | "hook";
}

/** One thing that the plugin does, as the handlers, tools and commands it needs. */
export interface Feature extends Partial<Handlers> {
  readonly name: string;
  /** A fork's request or call must not go on where this feature fails. */
  readonly holdsForks?: true;
  readonly tools?: Readonly<Record<string, ModelTool>>;
  readonly commands?: Readonly<Record<string, UserCommand>>;
}

export function createPluginContext(setup: PluginContextSetup): PluginContext {
  const { host, options, env, now = Date.now, usedBy = "plugin" } = setup;
  const { store } = options;
  const folders = pluginFolders({ store: store !== undefined && isDatabase(store) ? undefined : store, env });
  const stores = openPluginStores({ store, folders, now, packageFolders: host.packageFolders, usedBy });
  const redaction = redactionOf(options);
  const clean = (text: string): string => redactSecrets(text, redaction);
  const notify = createNotify(host, { level: options.log, clean });
  const tree = createSessionTree(host);
  const journals = createLruMap<string, Journal>(MAX_JOURNALS);
  const journal = (rootSessionId: string): Journal => {
    const known = journals.get(rootSessionId);
    if (known !== undefined) return known;
    const opened = stores.journal(rootSessionId);
    journals.set(rootSessionId, opened);
    return opened;
  };
  const toasted = createLruMap<string, true>(MAX_TOLD);
  /** What happened to the window, in a toast the first time in a session; the rest has a place of its own. */
  const tellFirst = (piece: ShownPiece): void => {
    if (piece.type !== "line" || !FIRST_TOLD.includes(piece.label)) return;
    const key = `${piece.label} ${piece.sessionId}`;
    if (host.attendance === "headless" || toasted.get(key)) return;
    toasted.set(key, true);
    notify.toast(`${piece.label}: ${piece.text}`);
  };
  return {
    host,
    options,
    notify,
    folders,
    stores,
    outputs: stores.outputs,
    redaction,
    tree,
    now,
    env,
    journal,
    show(piece) {
      if (host.screen.reach === "toasts") return tellFirst(piece);
      host.screen
        .show(piece)
        .catch((cause: unknown) => notify.log("warn", "not shown", { key: piece.key, cause: String(cause) }));
    },
    record(sessionId, entry) {
      const atMs = now();
      const write = async (): Promise<void> => {
        const written = await journal(await tree.rootOf(sessionId)).append({
          atMs,
          sessionId,
          ...entry,
          ...cleanFields(entry, clean),
        });
        if (written.status === "failed") notify.logOnce("warn", `journal not written: ${written.reason}`);
      };
      write().catch((cause: unknown) =>
        notify.log("error", "journal not written", { type: entry.type, cause: String(cause) }),
      );
    },
  };
}

/** The usual secrets, and those of the option `redact`. */
export function redactionOf({ redact }: Pick<PluginOptions, "redact">): RedactOptions {
  return { extraRules: redact.map((source) => ({ type: "own", pattern: new RegExp(source, "g") })) };
}

/** Labels of the lines that say what became of the window. */
const FIRST_TOLD: readonly string[] = ["cut", "pruned"];

const MAX_TOLD = 256;

/** A journal that was forgotten is opened again, and goes on in a file of its own. */
const MAX_JOURNALS = 256;
