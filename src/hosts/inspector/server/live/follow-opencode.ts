import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathName } from "../../../../stores/files/path-name.ts";
import { processState } from "../../../../stores/files/process-identity.ts";
import { readLease } from "../../../../tasks/fork-lease.ts";
import { readForks } from "../../../cli/forks-store.ts";
import type { PluginFolders } from "../../../opencode/plugin-folder.ts";
import { createControlStore } from "../../../opencode/window/control-store.ts";
import { readPluginJournal } from "../../../opencode/window/read-plugin-journal.ts";
import type { FollowedSession } from "./create-followed-session.ts";
import type { StoredSession } from "./stored-session.ts";

/** Looks at what OpenCode and the plugin write until the signal says stop. Looking costs a few file names; reading is done when a file has changed. */
export async function followOpenCode(session: FollowedSession, options: FollowPlaces): Promise<void> {
  const { signal } = options;
  const follow = createFollower(session, options);
  await follow.look();
  options.onFirstLook();
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
    // What cannot be looked at now can be in a moment.
    if (!signal.aborted)
      await follow.look().catch((error: Error) => session.takeProblems([`not followed: ${error.message}`]));
  }
}

export interface FollowPlaces {
  readonly folders: PluginFolders;
  readonly rootSessionId: string;
  readonly stored: StoredSession;
  /** The files whose change says that OpenCode stored something. */
  readonly databaseFiles: readonly string[];
  readonly signal: AbortSignal;
  /** Called once everything has been read that was there at the beginning. */
  readonly onFirstLook: () => void;
}

const LOOK_MS = 400;
/** A read starts a program: how long it may rest between two, at least and when nothing is new. */
const MIN_REST_MS = 1_000;
const MAX_REST_MS = 15_000;
/** What counts as working. */
const WORKING_MS = 10_000;

interface Follower {
  look(): Promise<void>;
}

function createFollower(session: FollowedSession, places: FollowPlaces): Follower {
  const { folders, rootSessionId, stored, databaseFiles } = places;
  const control = createControlStore(folders.control);
  let journalSign = "never read";
  let databaseSign = "never read";
  let isDue = true;
  let restMs = 0;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let tookMs = 0;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  const problems = { journal: [] as readonly string[], messages: [] as readonly string[] };

  async function lookAtJournal(): Promise<boolean> {
    const sign = `${await signOfFolder(folders.journal, `${pathName(rootSessionId)}.`)} ${await signOfTree(folders.forks)}`;
    if (sign === journalSign) return false;
    journalSign = sign;
    const journal = await readPluginJournal({ folder: folders.journal, rootSessionId });
    const forks = await readForks(folders);
    // An unfinished line is one that is being written.
    const damage = journal.problems.filter(({ type }) => type !== "torn-tail");
    problems.journal = [...damage.map(({ reason }) => `journal: ${reason}`), ...forks.problems];
    return session.takeJournal(journal.entries, forks.records);
  }

  async function lookAtMessages(hasJournalChanged: boolean): Promise<boolean> {
    if (hasJournalChanged) {
      isDue = true;
      restMs = MIN_REST_MS;
    }
    if (performance.now() < readAtMs + Math.max(restMs, tookMs * 2)) return false;
    const sign = await signOf(databaseFiles);
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

  async function isAnyRunning(): Promise<boolean> {
    const listed = await control.instances.list();
    const leases = listed.status === "failed" ? [] : listed.records.map(({ value }) => readLease(value));
    return leases.some((lease) => lease !== undefined && processState(lease.process) !== "gone");
  }

  return {
    async look() {
      const isJournalNew = await lookAtJournal();
      const areMessagesNew = await lookAtMessages(isJournalNew);
      if (isJournalNew || areMessagesNew) changedAtMs = performance.now();
      session.takeProblems([...problems.journal, ...problems.messages]);
      const isWorking = performance.now() - changedAtMs < WORKING_MS;
      session.takeActivity((await isAnyRunning()) ? (isWorking ? "working" : "quiet") : "ended");
    },
  };
}

/** Changes whenever one of the files does. */
async function signOf(paths: readonly string[]): Promise<string> {
  const signs = paths.map((path) =>
    stat(path).then(
      ({ size, mtimeMs }) => `${size}@${mtimeMs}`,
      () => "none",
    ),
  );
  return (await Promise.all(signs)).join(" ");
}

async function signOfFolder(folder: string, prefix: string): Promise<string> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith(prefix));
  return signOf(names.sort().map((name) => join(folder, name)));
}

/** Of the files in the folders below. */
async function signOfTree(folder: string): Promise<string> {
  const below = await readdir(folder).catch(() => []);
  return (await Promise.all(below.sort().map((name) => signOfFolder(join(folder, name), "")))).join(" ");
}
