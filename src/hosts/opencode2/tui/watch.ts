import { type PluginEntry, pluginJournal } from "../../../plugin/stores/journal.ts";
import type { FollowedPlugin, PluginStores } from "../../../plugin/stores/plugin-stores.ts";
import type { RecordedForks } from "../../../plugin/stores/recorded-forks.ts";

/** What the part of the plugin in OpenCode's server has written about the session on the screen and those before it. */
export interface PluginWatch {
  /** Reads what has changed, at once. */
  look(): Promise<void>;
  forks(): RecordedForks;
  /** The session at the top: of a fork the one that it serves. */
  rootOf(sessionId: string): string;
  /** What was written about a session, oldest first. */
  entriesOf(sessionId: string): readonly PluginEntry[];
  stop(): void;
}

/** Reads the plugin's stores whenever they have changed, from the first session on that comes to the screen. */
export function createWatch({ stores, current, onChange }: WatchSetup): PluginWatch {
  const logs = new Map<string, FollowedLog>();
  let forks: RecordedForks = NO_FORKS;
  let looking: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  const rootOf = (sessionId: string): string =>
    forks.records.find(({ childSessionId }) => childSessionId === sessionId)?.rootSessionId ?? sessionId;

  async function read(): Promise<void> {
    const sessionId = current();
    if (sessionId !== undefined) follow(rootOf(sessionId));
    let hasChanged = false;
    for (const log of logs.values()) {
      const seen = await log.follower.look();
      if (seen === undefined) continue;
      log.entries = pluginJournal(seen.journal).entries;
      forks = seen.forks;
      hasChanged = true;
    }
    if (hasChanged && !isStopped) onChange();
  }

  function follow(rootId: string): void {
    const known = logs.get(rootId);
    logs.delete(rootId);
    logs.set(rootId, known ?? { follower: stores.follow(rootId), entries: [] });
    const [oldest] = logs.keys();
    if (logs.size > MAX_LOGS && oldest !== undefined) logs.delete(oldest);
  }

  /** What cannot be read now may be readable at the next look. */
  function look(): Promise<void> {
    looking ??= read()
      .catch(() => {})
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  async function run(): Promise<void> {
    const startedAtMs = performance.now();
    await look();
    const tookMs = performance.now() - startedAtMs;
    if (isStopped) return;
    timer = setTimeout(() => void run(), Math.min(MAX_PAUSE_MS, Math.max(LOOK_MS, tookMs * LOOK_PAUSE)));
    timer.unref?.();
  }

  void run();
  return {
    look,
    forks: () => forks,
    rootOf,
    entriesOf: (sessionId) =>
      logs.get(rootOf(sessionId))?.entries.filter((entry) => entry.sessionId === sessionId) ?? [],
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

interface WatchSetup {
  readonly stores: Pick<PluginStores, "follow">;
  /** The session on the screen. */
  readonly current: () => string | undefined;
  readonly onChange: () => void;
}

interface FollowedLog {
  readonly follower: FollowedPlugin;
  entries: readonly PluginEntry[];
}

/** A look costs a few file names; a long log that changes often is read more rarely. */
const LOOK_MS = 500;
const LOOK_PAUSE = 10;
const MAX_PAUSE_MS = 3_000;
/** Sessions that were on the screen lately: news of their forks are told too. */
const MAX_LOGS = 4;

const NO_FORKS: RecordedForks = { records: [], elsewhere: [], leases: [], problems: [] };
