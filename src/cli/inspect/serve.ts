import { constants } from "node:buffer";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { workingDirectoryOf } from "../../formats/read-transcript.ts";
import { readHookOptions } from "../../hosts/hooks/hook-session.ts";
import {
  createSessionReader,
  followAgent,
  type SessionReader,
} from "../../inspector/server/live/follow-opencode.ts";
import { createFollowedSession, type StoredFile } from "../../inspector/server/live/followed-session.ts";
import {
  readPageAssets,
  renderSingleFile,
  type SecretsChoice,
  type SessionSource,
} from "../../inspector/server/page-content.ts";
import {
  type EndReason,
  type ServedInspector,
  serveInspector,
} from "../../inspector/server/serve-inspector.ts";
import type { InspectedSession } from "../../inspector/view/types.ts";
import { dataHome, pluginFolders } from "../../plugin/stores/folders.ts";
import type { PluginStores } from "../../plugin/stores/plugin-stores.ts";
import { omitUndefined } from "../../text/json.ts";
import { type OutputFile, writeOutputFile } from "../files/output-file.ts";
import { readInput, sessionLabel } from "../files/read-input.ts";
import { queryOpenCode } from "../opencode/sessions.ts";
import { listLogs, type OpenedStores, withStores } from "../opencode/with-stores.ts";
import { findSessions } from "../sessions/find-newest-session.ts";
import { isOpenCodeId, sessionPath } from "../sessions/open-session.ts";
import { CliError } from "../terminal/cli-error.ts";
import { createProgressLine, terminalText } from "../terminal/output.ts";

/** Serves the page until Ctrl-C, or until half an hour has passed without a request. The access token is only in the printed address. */
export async function serveUntilStopped(source: SessionSource, options: ServePageOptions): Promise<void> {
  const { port = 0, browser, print } = options;
  const inspector = await startServer(source, port);
  const address = inspector.invite();
  const hint = process.stdin.isTTY ? "Press Enter for another. " : "";
  // Listens before the address is printed: a signal may come as soon as it is.
  const ended = waitForEnd(inspector, () => print(`Page: ${inspector.invite()}`));
  print(`Page: ${address}`);
  print(`Each address opens it once, on this machine only. ${hint}Ctrl-C ends it.`);
  if (browser === "open") openBrowser(address);
  if ((await ended) === "idle") print("Ended: nobody has asked for 30 minutes.");
}

interface ServePageOptions {
  readonly port?: number;
  readonly browser: "open" | "leave";
  /** Prints a line to the terminal. */
  readonly print: (line: string) => void;
}

async function startServer(source: SessionSource, port: number): Promise<ServedInspector> {
  const assets = await pageAssets();
  try {
    return await serveInspector({ source, assets, port });
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === "EADDRINUSE" ? "it is in use" : String(error);
    throw new CliError(`Cannot listen on port ${port}: ${reason}`, ["Leave out --port to get a free one."], {
      cause: error,
    });
  }
}

/** The built page; throws with advice where it is missing. */
function pageAssets(): ReturnType<typeof readPageAssets> {
  return readPageAssets().catch((error: Error) => {
    throw new CliError(error.message, ["Install the package again, or build it."], { cause: error });
  });
}

async function waitForEnd(inspector: ServedInspector, inviteAgain: () => void): Promise<EndReason> {
  const stop = (): void => void inspector.stop();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  if (process.stdin.isTTY) process.stdin.on("data", inviteAgain);
  try {
    return await inspector.ended;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    if (process.stdin.isTTY) process.stdin.off("data", inviteAgain).pause();
  }
}

/**
 * Serves the page of a running session: the one named, by its id or its file, or the newest: of OpenCode where the plugin of
 * this home wrote about it last, else of Claude Code or Codex.
 */
export async function inspectLive(named: string | undefined, flags: InspectFlags): Promise<void> {
  const file = await liveFile(named, flags);
  if (file !== undefined) return serveFile(file, flags);
  await withStores(flags.store, async (opened) => {
    const rootSessionId = await findSession(opened, named);
    const { env } = process;
    return serveLive({
      stores: opened.stores,
      rootSessionId,
      flags,
      reader: createSessionReader(rootSessionId, (sql) => queryOpenCode(sql, env)),
      files: databaseFiles(env),
    });
  });
}

/** The file of the session that is meant; undefined where it is one of OpenCode. */
async function liveFile(named: string | undefined, { store }: InspectFlags): Promise<string | undefined> {
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
async function serveFile(path: string, flags: InspectFlags): Promise<void> {
  const { env } = process;
  const { format, sessionId = basename(path, ".jsonl") } = await readInput(path, "window");
  const { store } = (await readHookOptions(env)).options;
  const place = flags.store ?? store ?? pluginFolders({ store: undefined, env }).root;
  await withStores(place, ({ stores }) =>
    serveLive({
      stores,
      rootSessionId: sessionId,
      flags,
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
  const { title, transcript, wire } = await readInput(path, "window");
  return { info: { title, directory: workingDirectoryOf(wire) }, transcript };
}

interface LiveRequest {
  readonly stores: PluginStores;
  readonly rootSessionId: string;
  readonly flags: InspectFlags;
  readonly reader: SessionReader;
  readonly files: readonly string[];
  readonly isResident?: boolean;
  readonly agent?: string;
  readonly format?: InspectedSession["format"];
}

async function serveLive(request: LiveRequest): Promise<void> {
  const { rootSessionId, flags, agent, format } = request;
  const session = createFollowedSession(
    omitUndefined({
      sessionId: rootSessionId,
      secrets: secretsChoice(flags),
      windowTokens: flags.window,
      agent,
      format,
    }),
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
    printerFor(flags)(`Following ${sessionLabel(session.head(), rootSessionId)}`);
    await serveUntilStopped(session, servePageOptions(flags));
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

/** The flags of `carryover inspect`. */
export interface InspectFlags {
  readonly json?: true;
  readonly top: number;
  readonly open?: true;
  readonly html?: string;
  readonly force?: true;
  readonly port?: number;
  readonly live?: true;
  readonly store?: string;
  readonly window?: number;
  readonly redact: boolean;
}

/** Throws where flags exclude each other. */
export function checkFlags({ html, live, json, store }: InspectFlags): void {
  if (live && (html !== undefined || json))
    throw new CliError("--live serves a page that follows the session", ["Leave out --html and --json."]);
  if (store !== undefined && !live) throw new CliError("--store is for --live", ["Add --live."]);
}

/** True if the page is to be served. */
export function isServed({ open, port, live }: InspectFlags): boolean {
  return open === true || live === true || port !== undefined;
}

/** The options of serving that the flags ask for. */
export function servePageOptions(flags: InspectFlags): ServePageOptions {
  const { open, port } = flags;
  return { browser: open ? "open" : "leave", print: printerFor(flags), ...(port !== undefined && { port }) };
}

/** Prints lines for the user: to standard error with `--json`, so that standard output stays JSON. */
export function printerFor({ json }: InspectFlags): (line: string) => void {
  const stream = json ? process.stderr : process.stdout;
  return (line) => void stream.write(`${line}\n`);
}

/** Whether the page shows secrets. */
export function secretsChoice({ redact }: InspectFlags): SecretsChoice {
  return redact ? "redacted" : "shown";
}

/** Parses an argument that is a port. */
export function parsePort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("Give a number from 0 to 65535; 0 is any free port.");
  return port;
}

/** Writes the page with its session as one file that only its owner can read. */
export async function writePage(file: OutputFile, session: InspectedSession): Promise<void> {
  const assets = await pageAssets();
  const content = function* (): Generator<string> {
    let chars = 0;
    for (const piece of renderSingleFile(session, assets)) {
      chars += piece.length;
      // No browser reads a longer text.
      if (chars > constants.MAX_STRING_LENGTH)
        throw new CliError(`A session of ${session.transcript.length} messages is too long for one file`, [
          "Use --open.",
        ]);
      yield piece;
    }
  };
  await writeOutputFile(file, content());
}

/** Opens an address in the user's browser, if there is one; the address is printed in any case. */
function openBrowser(address: string, env: NodeJS.ProcessEnv = process.env): void {
  const command = browserCommand(env);
  if (command === undefined) return;
  const [program, ...args] = command;
  spawn(program, [...args, address], { detached: true, stdio: "ignore" })
    .on("error", () => {})
    .unref();
}

/** The program that opens addresses, with its arguments; undefined where there is no screen. */
export function browserCommand(
  { BROWSER, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): readonly [string, ...string[]] | undefined {
  if (BROWSER) return [BROWSER];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["cmd", "/c", "start", ""];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}
