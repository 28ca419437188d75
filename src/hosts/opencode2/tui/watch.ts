import { batchesInForce } from "../../../plugin/stores/edits-in-force.ts";
import { type PluginEntry, pluginJournal } from "../../../plugin/stores/journal.ts";
import type { FollowedPlugin, PluginStores } from "../../../plugin/stores/plugin-stores.ts";
import type { RecordedForks } from "../../../plugin/stores/recorded-forks.ts";
import { editCount } from "../../../session/stored-state.ts";
import { CHARS_PER_TOKEN } from "../../../text/tokens/estimate-tokens.ts";

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

/** What left a session's window, or never entered it, and why; the largest first. */
export function whatLeft(entries: readonly PluginEntry[]): readonly LeftContent[] {
  const groups = new Map<string, LeftContent>();
  const add = ({ why, count, tokens, isStored }: LeftContent): void => {
    const known = groups.get(why);
    groups.set(why, {
      why,
      count: count + (known?.count ?? 0),
      tokens: tokens + (known?.tokens ?? 0),
      isStored,
    });
  };
  for (const entry of entries)
    if (entry.type === "tool-output") {
      const tokens = Math.round(Math.max(0, entry.totalChars - entry.shownChars) / CHARS_PER_TOKEN);
      add({ why: "long outputs, cut as they came", count: 1, tokens, isStored: false });
    }
  for (const { batch } of batchesInForce(entries)) {
    const tokens = Math.max(0, batch.tokensBefore - batch.tokensAfter);
    const why = `${STEPS[batch.step] ?? batch.step}, ${REASONS[batch.reason] ?? batch.reason}`;
    add({ why, count: editCount(batch), tokens, isStored: true });
  }
  return [...groups.values()].toSorted((one, other) => other.tokens - one.tokens);
}

/** Content that is not sent to the model, for one reason. */
export interface LeftContent {
  readonly why: string;
  /** How many pieces. */
  readonly count: number;
  readonly tokens: number;
  /** True where OpenCode has stored it, and only requests are without it. */
  readonly isStored: boolean;
}

/** The engine's words for what it did, and for why it did it, as people say it. */
const STEPS: Readonly<Record<string, string>> = {
  prune: "old outputs, pruned",
  compact: "old messages, compacted",
  "summarize-tool-results": "old outputs, summed up",
  recover: "taken out after a refusal",
};
const REASONS: Readonly<Record<string, string>> = {
  "over-limit": "since the window was nearly full",
  pays: "since that is cheaper",
};
