import { setTimeout as sleep } from "node:timers/promises";
import { signOfFiles } from "../../../opencode/file-plugin-stores.ts";
import type { PluginStores } from "../../../opencode/plugin-stores.ts";
import { isHeld } from "../../../opencode/recorded-forks.ts";
import { runningPlugins } from "../../../opencode/window/control-store.ts";
import { pluginJournal } from "../../../opencode/window/read-plugin-journal.ts";
import type { FollowedSession } from "./create-followed-session.ts";
import type { StoredSession } from "./stored-session.ts";

/** Looks at what OpenCode and the plugin write until the signal says stop. Only what has changed is read; nothing is written. */
export async function followOpenCode(session: FollowedSession, options: FollowPlaces): Promise<void> {
  const { signal } = options;
  const follow = createFollower(session, options);
  await follow.look();
  options.onFirstLook();
  while (!signal.aborted) {
    await sleep(follow.lookMs, undefined, { signal }).catch(() => {});
    // What cannot be looked at now can be in a moment.
    if (!signal.aborted)
      await follow.look().catch((error: Error) => session.takeProblems([`not followed: ${error.message}`]));
  }
}

export interface FollowPlaces {
  readonly stores: PluginStores;
  readonly rootSessionId: string;
  readonly stored: StoredSession;
  /** The files whose change says that OpenCode stored something. */
  readonly databaseFiles: readonly string[];
  readonly signal: AbortSignal;
  /** Called once everything has been read that was there at the beginning. */
  readonly onFirstLook: () => void;
}

/** Between two looks at who runs. */
const RUNNING_MS = 2_000;
/** A read starts a program: how long it may rest between two, at least and when nothing is new. */
const MIN_REST_MS = 1_000;
const MAX_REST_MS = 15_000;
/** What counts as working. */
const WORKING_MS = 10_000;

interface Follower {
  readonly lookMs: number;
  look(): Promise<void>;
}

function createFollower(session: FollowedSession, places: FollowPlaces): Follower {
  const { stores, rootSessionId, stored, databaseFiles } = places;
  const plugin = stores.follow(rootSessionId);
  let isAnyRunning = false;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let databaseSign = "never read";
  let isDue = true;
  let restMs = 0;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let tookMs = 0;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  const problems = { journal: [] as readonly string[], messages: [] as readonly string[] };

  async function lookAtJournal(): Promise<boolean> {
    const seen = await plugin.look();
    if (seen === undefined) return false;
    const { forks } = seen;
    const journal = pluginJournal(seen.journal);
    // An unfinished line is one that is being written.
    const damage = journal.problems.filter(({ type }) => type !== "torn-tail");
    problems.journal = [...damage.map(({ reason }) => `journal: ${reason}`), ...forks.problems];
    const question = { leases: forks.leases, nowMs: stores.now() };
    return session.takeJournal(
      journal.entries,
      [...forks.records, ...forks.elsewhere].map((record) => ({ record, isHeld: isHeld(record, question) })),
    );
  }

  async function lookAtMessages(hasJournalChanged: boolean): Promise<boolean> {
    if (hasJournalChanged) {
      isDue = true;
      restMs = MIN_REST_MS;
    }
    if (performance.now() < readAtMs + Math.max(restMs, tookMs * 2)) return false;
    const sign = await signOfFiles(databaseFiles);
    if (sign === databaseSign && !isDue) return false;
    databaseSign = sign;
    isDue = false;
    const startedAtMs = performance.now();
    let isNew = false;
    try {
      const now = await stored.read();
      problems.messages = now === undefined ? [`OpenCode has no session ${rootSessionId} any more`] : [];
      isNew = now !== undefined && session.takeMessages(now);
    } catch (error) {
      problems.messages = [`the messages cannot be read: ${(error as Error).message}`];
    }
    readAtMs = performance.now();
    tookMs = readAtMs - startedAtMs;
    // Our own reading can touch the files as well, so that no news makes it wait longer.
    restMs = isNew ? MIN_REST_MS : Math.min(Math.max(MIN_REST_MS, restMs * 2), MAX_REST_MS);
    return isNew;
  }

  async function lookWhoRuns(): Promise<void> {
    if (performance.now() - askedAtMs < RUNNING_MS) return;
    askedAtMs = performance.now();
    // A store that does not answer does not say that nobody runs.
    isAnyRunning = ((await runningPlugins(stores.control))?.length ?? (isAnyRunning ? 1 : 0)) > 0;
  }

  return {
    lookMs: plugin.lookMs,
    async look() {
      const isJournalNew = await lookAtJournal();
      const areMessagesNew = await lookAtMessages(isJournalNew);
      if (isJournalNew || areMessagesNew) changedAtMs = performance.now();
      session.takeProblems([...problems.journal, ...problems.messages]);
      const isWorking = performance.now() - changedAtMs < WORKING_MS;
      await lookWhoRuns();
      session.takeActivity(isAnyRunning ? (isWorking ? "working" : "quiet") : "ended");
    },
  };
}
