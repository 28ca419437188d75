import { dirname, join } from "node:path";
import { createFollowedSession } from "../inspector/server/live/create-followed-session.ts";
import { followOpenCode } from "../inspector/server/live/follow-opencode.ts";
import { createStoredSession } from "../inspector/server/live/stored-session.ts";
import { type PluginFolders, pluginFolders } from "../opencode/plugin-folder.ts";
import { listPluginJournals } from "../opencode/window/read-plugin-journal.ts";
import { askOpenCode } from "./ask-opencode.ts";
import { CliError } from "./cli-error.ts";
import { findPluginFolders } from "./forks-store.ts";
import { type InspectFlags, sayOf, secretsOf, serveFlagsOf } from "./inspect-flags.ts";
import { serveUntilStopped } from "./inspect-serve.ts";
import { createPatience } from "./patience.ts";
import { refuseDatabase } from "./refuse-database.ts";
import { sessionLabel } from "./session-name.ts";

/** Serves the page of a session that runs: the one named, or the one of which the plugin wrote last. */
export async function inspectLive(sessionId: string | undefined, flags: InspectFlags): Promise<void> {
  const { env } = process;
  await refuseDatabase(flags.store);
  const folders = await findPluginFolders(flags.store);
  const rootSessionId = await findSession(folders, sessionId);
  const session = createFollowedSession({
    sessionId: rootSessionId,
    secrets: secretsOf(flags),
    ...(flags.window !== undefined && { windowTokens: flags.window }),
  });
  const ask = async (sql: string): Promise<readonly unknown[]> =>
    JSON.parse((await askOpenCode(["db", sql, "--format", "json"], env)).toString("utf8"));
  const end = new AbortController();
  const patience = createPatience();
  patience.say(`reading ${rootSessionId}`);
  const isRead = new Promise<void>((resolve, reject) => {
    followOpenCode(session, {
      folders,
      rootSessionId,
      stored: createStoredSession(rootSessionId, ask),
      databaseFiles: databaseFiles(env),
      signal: end.signal,
      onFirstLook: resolve,
    }).catch(reject);
  });
  try {
    await isRead;
    patience.end();
    sayOf(flags)(`Following ${sessionLabel(session.head(), rootSessionId)}`);
    await serveUntilStopped(session, serveFlagsOf(flags));
  } finally {
    patience.end();
    end.abort();
  }
}

async function findSession({ journal }: PluginFolders, sessionId: string | undefined): Promise<string> {
  const known = await listPluginJournals(journal);
  const [newest] = known;
  if (newest === undefined)
    throw new CliError(`The plugin has written of no session in ${journal}`, [
      "Is it loaded? `carryover doctor` says so. Another store is named with --store.",
    ]);
  if (sessionId === undefined || known.includes(sessionId)) return sessionId ?? newest;
  throw new CliError(`The plugin has written of no session ${sessionId}`, [
    `Those of which it wrote last: ${known.slice(0, 5).join(", ")}`,
  ]);
}

/** The log beside the database is written at once, the database itself late. */
function databaseFiles(env: NodeJS.ProcessEnv): readonly string[] {
  const dataHome = dirname(pluginFolders({ store: undefined, env }).root);
  const database = join(dataHome, "opencode", "opencode.db");
  return [database, `${database}-wal`];
}
