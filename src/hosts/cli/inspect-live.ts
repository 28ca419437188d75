import { dirname, join } from "node:path";
import { createFollowedSession } from "../inspector/server/live/create-followed-session.ts";
import { followOpenCode } from "../inspector/server/live/follow-opencode.ts";
import { createStoredSession } from "../inspector/server/live/stored-session.ts";
import { pluginFolders } from "../opencode/plugin-folder.ts";
import { askOpenCode } from "./ask-opencode.ts";
import { CliError } from "./cli-error.ts";
import { type InspectFlags, sayOf, secretsOf, serveFlagsOf } from "./inspect-flags.ts";
import { serveUntilStopped } from "./inspect-serve.ts";
import { createPatience } from "./patience.ts";
import { sessionLabel } from "./session-name.ts";
import { shownText } from "./shown-text.ts";
import { type OpenedStores, withStores } from "./with-stores.ts";

/** Serves the page of a session that runs: the one named, or the one of which the plugin wrote last in this home. */
export function inspectLive(sessionId: string | undefined, flags: InspectFlags): Promise<void> {
  return withStores(flags.store, (opened) => serveLive({ opened, sessionId, flags }));
}

interface LiveWish {
  readonly opened: OpenedStores;
  readonly sessionId: string | undefined;
  readonly flags: InspectFlags;
}

async function serveLive({ opened, sessionId, flags }: LiveWish): Promise<void> {
  const { env } = process;
  const rootSessionId = await findSession(opened, sessionId);
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
      stores: opened.stores,
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

async function findSession({ stores, place }: OpenedStores, sessionId: string | undefined): Promise<string> {
  const { logs, problems } = await stores.logs();
  if (problems.length > 0) throw new CliError(`Cannot list the logs: ${problems.join("; ")}`, ["Try again."]);
  const here = logs.filter(({ writtenIn }) => writtenIn === "this-home");
  const named = logs.find(({ rootSessionId }) => rootSessionId === sessionId);
  const chosen = sessionId === undefined ? here[0] : named;
  if (chosen !== undefined) return chosen.rootSessionId;
  const advice = "Is it loaded? `carryover doctor` says so. Another store is named with --store.";
  if (sessionId === undefined || logs.length === 0)
    throw new CliError(`The plugin has written of no session in ${place}`, [advice]);
  throw new CliError(`The plugin has written of no session ${sessionId}`, [
    `Those of which it wrote last: ${logs
      .slice(0, 5)
      .map(({ rootSessionId }) => shownText(rootSessionId, MAX_NAME_CHARS))
      .join(", ")}`,
  ]);
}

const MAX_NAME_CHARS = 60;

/** The log beside the database is written at once, the database itself late. */
function databaseFiles(env: NodeJS.ProcessEnv): readonly string[] {
  const dataHome = dirname(pluginFolders({ store: undefined, env }).root);
  const database = join(dataHome, "opencode", "opencode.db");
  return [database, `${database}-wal`];
}
