import type { RecordStore } from "../../fork/life/record-store.ts";
import type { Journal, JournalContent } from "../../session/journal.ts";
import type { StoreFailure } from "../../text/failure.ts";
import type { OutputStore } from "../../tool-output/output-store.ts";
import type { ControlStore } from "./control-store.ts";
import type { PluginFolders } from "./folders.ts";
import type { RecordedForks } from "./recorded-forks.ts";
import type { RequestStore } from "./requests.ts";

/** Everything that the plugin keeps, in files or in a database, as it and the command line see it. */
export interface PluginStores {
  readonly outputs: OutputStore;
  readonly requests: RequestStore;
  readonly control: ControlStore;
  journal(rootSessionId: string): Journal;
  /** The records of the forks of one project, by the name that its agent gives it. */
  forks(project: string): RecordStore;
  /** The root sessions whose logs were opened by this program. */
  openLogs(): readonly string[];
  /** The logs that are kept, the one written to last first. */
  logs(): Promise<PluginLogs>;
  /** The forks of all projects that can be seen from here. */
  recordedForks(): Promise<RecordedForks>;
  /** Follows what is written about a root session. */
  follow(rootSessionId: string): FollowedPlugin;
  /** The clock by which leases expire, the same for all who share these stores, in milliseconds. */
  now(): number;
  /** Whether the stores can be used. Files always can; a failed write is reported where it happens. */
  open(): Promise<{ readonly status: "open" } | StoreFailure>;
  close(): Promise<void>;
}

export interface PluginLogs {
  readonly logs: readonly PluginLog[];
  readonly problems: readonly string[];
}

/** The log of a root session. */
export interface PluginLog {
  readonly rootSessionId: string;
  readonly writtenAtMs: number;
  /** Elsewhere: a plugin of another home wrote it into the same database. */
  readonly writtenIn: "this-home" | "elsewhere";
}

export interface FollowedPlugin {
  /** Between two calls of `look`. */
  readonly lookMs: number;
  /** The log and the forks; undefined when nothing changed since the last call. */
  look(): Promise<SeenPlugin | undefined>;
}

interface SeenPlugin {
  readonly journal: JournalContent;
  readonly forks: RecordedForks;
}

/** True for the address of a database, which may hold a password. */
export function isDatabase(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}

export interface PluginStoresSetup {
  /** The option of that name. */
  readonly store: string | undefined;
  readonly folders: PluginFolders;
  readonly now: () => number;
  /** Where the package `pg` may be, if it is not beside the plugin. */
  readonly packageFolders?: readonly string[];
  /**
   * A command writes rarely and to be sure; the plugin must not wait for the disk, and says where its sessions live. A hook
   * writes once and ends.
   */
  readonly usedBy?: "plugin" | "hook" | "command";
}

/** The plugin runs for weeks; only the logs that it used lately are told to the command line. */
export const MAX_OPEN_LOGS = 256;
