import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { readHookOptions } from "../../agents/options-file.ts";
import {
  createSessionReader,
  followAgent,
  type SessionReader,
} from "../../inspector/server/live/follow-opencode.ts";
import { createFollowedSession, type StoredFile } from "../../inspector/server/live/followed-session.ts";
import type { SessionSource } from "../../inspector/server/session-source.ts";
import type { SecretsChoice } from "../../inspector/view/inspected-session.ts";
import type { InspectedSession } from "../../inspector/view/types.ts";
import type { ModelRow } from "../../models/model-row.ts";
import { dataHome, pluginFolders } from "../../plugin/stores/folders.ts";
import type { PluginStores } from "../../plugin/stores/plugin-stores.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { readInput, sessionLabel } from "../files/read-input.ts";
import { queryOpenCode } from "../opencode/sessions.ts";
import { listLogs, type OpenedStores, withStores } from "../opencode/with-stores.ts";
import { findSessions } from "../sessions/find-newest-session.ts";
import { isOpenCodeId, sessionPath } from "../sessions/open-session.ts";
import { CliError } from "../terminal/cli-error.ts";
import { terminalText } from "../terminal/output.ts";
import { createProgressLine } from "../terminal/progress-line.ts";

/**
 * Follows a running session and serves its page: the one named, by its id or its file, or the newest: of OpenCode where the
 * plugin of this home wrote about it last, else of Claude Code or Codex.
 */
export async function followSession(named: string | undefined, options: FollowOptions): Promise<void> {
  const file = await liveFile(named, options);
  if (file !== undefined) return followFile(file, options);
  await withStores(options.store, async (opened) => {
    const rootSessionId = await findSession(opened, named);
    const { env } = process;
    return follow({
      stores: opened.stores,
      rootSessionId,
      options,
      reader: createSessionReader(rootSessionId, (sql) => queryOpenCode(sql, env)),
      files: databaseFiles(env),
    });
  });
}

interface FollowOptions {
  /** The plugin's folder, where it is not the usual one. */
  readonly store?: string | undefined;
  readonly secrets: SecretsChoice;
  /** The window of the model. */
  readonly windowTokens?: number | undefined;
  readonly models?: readonly ModelRow[] | undefined;
  /** Serves the page of the session until the user ends it. */
  readonly serve: (session: SessionSource, label: string) => Promise<void>;
}

/** The file of the session that is meant; undefined where it is one of OpenCode. */
async function liveFile(named: string | undefined, { store }: FollowOptions): Promise<string | undefined> {
  if (named !== undefined) {
    const path = await sessionPath(named);
    return existsSync(path) ? resolve(path) : undefined;
  }
  const files = (await findSessions(process.env)).filter(({ agent }) => HOOK_AGENTS.includes(agent));
  const [newest] = files;
  if (newest === undefined) return undefined;
  const logs = await withStores(store, ({ stores }) => listLogs(stores));
  const followed = logs.find(
    ({ rootSessionId, writtenIn }) => writtenIn === "this-home" && isOpenCodeId(rootSessionId),
  );
  return (followed?.writtenAtMs ?? 0) > newest.modifiedMs ? undefined : newest.place;
}

const HOOK_AGENTS: readonly string[] = ["Claude Code", "Codex"];

/** Follows a session in a file, beside what the plugin has written of it. */
async function followFile(path: string, options: FollowOptions): Promise<void> {
  const { env } = process;
  const { format, sessionId = basename(path, ".jsonl") } = await readInput(path, "window");
  const { store } = (await readHookOptions(env)).options;
  const place = options.store ?? store ?? pluginFolders({ store: undefined, env }).root;
  await withStores(place, ({ stores }) =>
    follow({
      stores,
      rootSessionId: sessionId,
      options,
      reader: { read: () => readStored(path) },
      files: [path],
      isResident: false,
      agent: format,
      format,
    }),
  );
}

async function readStored(path: string): Promise<StoredFile | undefined> {
  if (!existsSync(path)) return undefined;
  const { title, transcript, workingDirectory: directory } = await readInput(path, "window");
  return { info: { title, directory }, transcript };
}

interface FollowRequest {
  readonly stores: PluginStores;
  readonly rootSessionId: string;
  readonly options: FollowOptions;
  readonly reader: SessionReader;
  readonly files: readonly string[];
  readonly isResident?: boolean;
  readonly agent?: string;
  readonly format?: InspectedSession["format"];
}

async function follow(request: FollowRequest): Promise<void> {
  const { rootSessionId, options, agent, format } = request;
  const { secrets, windowTokens, models } = options;
  const session = createFollowedSession(
    omitUndefined({ sessionId: rootSessionId, secrets, windowTokens, models, agent, format }),
  );
  const end = new AbortController();
  const progress = createProgressLine();
  progress.show(`reading ${rootSessionId}`);
  const isRead = new Promise<void>((resolve, reject) => {
    followAgent(session, { ...request, signal: end.signal, onFirstRead: resolve }).catch(reject);
  });
  try {
    await isRead;
    progress.end();
    await options.serve(session, sessionLabel(session.head(), rootSessionId));
  } finally {
    progress.end();
    end.abort();
  }
}

async function findSession({ stores, place }: OpenedStores, sessionId: string | undefined): Promise<string> {
  const logs = await listLogs(stores);
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
      .map(({ rootSessionId }) => terminalText(rootSessionId, MAX_NAME_CHARS))
      .join(", ")}`,
  ]);
}

const MAX_NAME_CHARS = 60;

/** OpenCode's database and its write-ahead log, which changes first. */
function databaseFiles(env: NodeJS.ProcessEnv): readonly string[] {
  const database = join(dataHome(env), "opencode", "opencode.db");
  return [database, `${database}-wal`];
}
