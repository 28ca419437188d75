import type { Journal, JournalContent } from "../../session/journal.ts";
import type { StoreFailure } from "../../stores/files/store-failure.ts";
import type { RecordStore } from "../../tasks/record-store.ts";
import type { SpillStore } from "../../tool-output/spill-store.ts";
import type { ViewStore } from "./capture/view-store.ts";
import type { RecordedForks } from "./recorded-forks.ts";
import type { ControlStore } from "./window/control-store.ts";

/** Everything that the plugin keeps, in files or in a database, as it and the command line see it. */
export interface PluginStores {
  readonly spills: SpillStore;
  readonly views: ViewStore;
  readonly control: ControlStore;
  journal(rootSessionId: string): Journal;
  /** The records of the forks of one project. */
  forks(directory: string): RecordStore;
  /** The root sessions whose logs were asked for here. */
  openLogs(): readonly string[];
  /** The logs that are kept, the one written to last first. */
  logs(): Promise<PluginLogs>;
  /** The forks of all projects that can be seen from here. */
  recordedForks(): Promise<RecordedForks>;
  /** What is written of a root session, for somebody who only looks. */
  follow(rootSessionId: string): FollowedPlugin;
  /** The time by which leases are judged, the same for all who share these stores, in milliseconds. */
  now(): number;
  /** Says whether they can be used; files always can, or say so themselves. */
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
  /** Between two looks. */
  readonly lookMs: number;
  /** The log and the forks, or undefined when nothing is new since the last look. */
  look(): Promise<SeenPlugin | undefined>;
}

export interface SeenPlugin {
  readonly journal: JournalContent;
  readonly forks: RecordedForks;
}

/** True for the address of a database, which may hold a password. */
export function isDatabase(store: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(store);
}
