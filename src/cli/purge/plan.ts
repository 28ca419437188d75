/** Everything that Carryover has stored, in folders or in a database. */
export interface InventoryItems {
  readonly sessions: readonly InventorySession[];
  /** Files that are named by their content, and may belong to several sessions. */
  readonly contents: readonly InventoryContent[];
  /** Everything else: cached measures, requests to a running plugin, files left by a killed program. */
  readonly leftovers: readonly InventoryFile[];
}

/** What belongs to one root session. */
export interface InventorySession {
  /** The session's id, or the name of its files where only that is known. */
  readonly id: string;
  /** The name of its files. */
  readonly name: string;
  readonly logs: readonly InventoryFile[];
  readonly forks: readonly InventoryFork[];
  /** The handles that its log and its forks mention. */
  readonly handles: ReadonlySet<string>;
  /** Which program uses it now; unset if none does. */
  readonly usedBy?: string;
  /** For which agent it was written, by `handoff` or `rescue`; unset for one of the agent's own. */
  readonly handed?: string;
  /** The id of one that was written, where its agent may know it by another. */
  readonly writtenId?: string;
}

/** A file, or a row of a database: a log, a record, an output. */
export interface InventoryFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly usedAtMs: number;
}

/** The record of a fork, which must be deleted through the record store. */
export interface InventoryFork extends InventoryFile {
  readonly folder: string;
  readonly id: string;
}

export interface InventoryContent extends InventoryFile {
  /** The folder that holds all contents of its kind. */
  readonly root: string;
  readonly handle: string;
  /** `spill`: whole outputs; `view`: what children inherited; `long`: long entries of logs. */
  readonly kind: "spill" | "view" | "long";
}

/** What the user wants to delete. */
export type PurgeFilter =
  | { readonly type: "all" }
  | { readonly type: "older"; readonly thanMs: number }
  | { readonly type: "session"; readonly name: string };

export interface PurgePlan {
  readonly sessions: readonly InventorySession[];
  readonly contents: readonly InventoryContent[];
  readonly leftovers: readonly InventoryFile[];
  /** Selected, but kept because a program uses it. */
  readonly inUse: readonly InventorySession[];
}

/** Decides what to delete. Contents that a remaining session refers to are kept. */
export function planPurge(items: InventoryItems, { filter, force, nowMs, only }: PurgeRequest): PurgePlan {
  const isWanted = (session: InventorySession): boolean => {
    if (only !== undefined && !only.has(session.name)) return false;
    if (filter.type === "all") return true;
    if (filter.type === "session") return session.name === filter.name;
    return nowMs - lastUsedAt(session) > filter.thanMs;
  };
  const wanted = items.sessions.filter(isWanted);
  const isFree = ({ usedBy }: InventorySession): boolean => force === "in-use-too" || usedBy === undefined;
  const sessions = wanted.filter(isFree);
  const gone = new Set(sessions);
  const needed = new Set(
    items.sessions.filter((session) => !gone.has(session)).flatMap(({ handles }) => [...handles]),
  );
  const mentioned = new Set(sessions.flatMap(({ handles }) => [...handles]));
  const isOld = ({ usedAtMs }: InventoryFile): boolean =>
    filter.type === "older" && nowMs - usedAtMs > filter.thanMs;
  return {
    sessions,
    contents: items.contents.filter(
      (content) =>
        !needed.has(content.handle) &&
        // A long entry of a log is deleted with the log only, however old it is.
        (filter.type === "all" ||
          mentioned.has(content.handle) ||
          (content.kind !== "long" && isOld(content))),
    ),
    leftovers: items.leftovers.filter((file) => filter.type === "all" || isOld(file)),
    inUse: wanted.filter((session) => !isFree(session)),
  };
}

export interface PurgeRequest {
  readonly filter: PurgeFilter;
  readonly force: "in-use-too" | "never";
  readonly nowMs: number;
  /** The names of the sessions that may be deleted; all when unset. */
  readonly only?: ReadonlySet<string>;
}

/** When anything of a session was last written. */
export function lastUsedAt({ logs, forks }: InventorySession): number {
  return Math.max(0, ...[...logs, ...forks].map(({ usedAtMs }) => usedAtMs));
}

/** The files that a plan deletes. */
export function filesOfPlan({ sessions, contents, leftovers }: PurgePlan): readonly InventoryFile[] {
  return [...sessions.flatMap(({ logs, forks }) => [...logs, ...forks]), ...contents, ...leftovers];
}

/** What was deleted. */
export interface Purged {
  readonly status: "purged" | "stopped";
  readonly files: number;
  readonly bytes: number;
  readonly problems: readonly string[];
}
