/** What Carryover keeps in its folders or in a database, as far as it can be told apart. */
export interface InventoryItems {
  /** What belongs to one root session: its log, and the records of its forks. */
  readonly sessions: readonly InventorySession[];
  /** Files that are named by their content, and may belong to several sessions. */
  readonly contents: readonly InventoryContent[];
  /** Everything else: measurements, requests to a running plugin, what a kill has left. */
  readonly leftovers: readonly InventoryFile[];
}

export interface InventorySession {
  /** Its id, or the name of its files where only that is known. */
  readonly id: string;
  /** What its files are called. */
  readonly name: string;
  readonly logs: readonly InventoryFile[];
  readonly forks: readonly InventoryFork[];
  /** The handles that its log and its forks mention. */
  readonly handles: ReadonlySet<string>;
  /** Why it must not be touched now; unset when nobody works with it. */
  readonly usedBy?: string;
}

/** A file, or what stands for one in a database: a log, a record, an output. */
export interface InventoryFile {
  readonly path: string;
  readonly sizeBytes: number;
  readonly usedAtMs: number;
}

/** The record of a fork, which only the record store may remove. */
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

/** What a person wants to be rid of. */
export type PurgeFilter =
  | { readonly type: "all" }
  | { readonly type: "older"; readonly thanMs: number }
  | { readonly type: "session"; readonly name: string };

export interface PurgePlan {
  readonly sessions: readonly InventorySession[];
  readonly contents: readonly InventoryContent[];
  readonly leftovers: readonly InventoryFile[];
  /** What was asked for and stays, since somebody works with it. */
  readonly inUse: readonly InventorySession[];
}

/** Decides what goes; touches nothing. What a session that stays mentions stays too. */
export function planPurge(kept: InventoryItems, { wish, force, nowMs, only }: PurgeRequest): PurgePlan {
  const isWanted = (session: InventorySession): boolean => {
    if (only !== undefined && !only.has(session.name)) return false;
    if (wish.type === "all") return true;
    if (wish.type === "session") return session.name === wish.name;
    return nowMs - lastUsedAt(session) > wish.thanMs;
  };
  const wanted = kept.sessions.filter(isWanted);
  const isFree = ({ usedBy }: InventorySession): boolean => force === "in-use-too" || usedBy === undefined;
  const sessions = wanted.filter(isFree);
  const gone = new Set(sessions);
  const needed = new Set(
    kept.sessions.filter((session) => !gone.has(session)).flatMap(({ handles }) => [...handles]),
  );
  const mentioned = new Set(sessions.flatMap(({ handles }) => [...handles]));
  const isOld = ({ usedAtMs }: InventoryFile): boolean =>
    wish.type === "older" && nowMs - usedAtMs > wish.thanMs;
  return {
    sessions,
    contents: kept.contents.filter(
      (content) =>
        !needed.has(content.handle) &&
        // An entry of a log goes with the log, however old it is.
        (wish.type === "all" || mentioned.has(content.handle) || (content.kind !== "long" && isOld(content))),
    ),
    leftovers: kept.leftovers.filter((file) => wish.type === "all" || isOld(file)),
    inUse: wanted.filter((session) => !isFree(session)),
  };
}

export interface PurgeRequest {
  readonly wish: PurgeFilter;
  readonly force: "in-use-too" | "never";
  readonly nowMs: number;
  /** The names of the sessions that may go; any when unset. */
  readonly only?: ReadonlySet<string>;
}

/** When anything of a session was last written. */
export function lastUsedAt({ logs, forks }: InventorySession): number {
  return Math.max(0, ...[...logs, ...forks].map(({ usedAtMs }) => usedAtMs));
}

/** How much a plan would free. */
export function sizeOfPlan({ sessions, contents, leftovers }: Omit<PurgePlan, "inUse">): PlanSize {
  const files = [
    ...sessions.flatMap(({ logs, forks }) => [...logs, ...forks]),
    ...contents,
    ...leftovers,
  ] satisfies readonly InventoryFile[];
  return { files: files.length, bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

interface PlanSize {
  readonly files: number;
  readonly bytes: number;
}
