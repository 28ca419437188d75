import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { InvalidArgumentError } from "commander";
import { createSessionReader, followOpenCode } from "../../inspector/server/live/follow-opencode.ts";
import { createFollowedSession } from "../../inspector/server/live/followed-session.ts";
import { readPageAssets, renderSingleFile } from "../../inspector/server/page-html.ts";
import {
  type EndReason,
  type ServedInspector,
  serveInspector,
} from "../../inspector/server/serve-inspector.ts";
import type { SecretsChoice, SessionSource } from "../../inspector/server/session-source.ts";
import type { InspectedSession } from "../../inspector/view/types.ts";
import { pluginFolders } from "../../plugin/stores/folders.ts";
import { sessionLabel } from "../files/read-input.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { runOpenCodeCommand } from "../opencode/sessions.ts";
import { type OpenedStores, withStores } from "../opencode/with-stores.ts";
import { CliError } from "../terminal/cli-error.ts";
import { createProgressLine, terminalText } from "../terminal/output.ts";

/** Serves the page until Ctrl-C, or until nobody has asked for half an hour. The token is written once: in the address, for a person to see. */
export async function serveUntilStopped(source: SessionSource, options: ServePageOptions): Promise<void> {
  const { port = 0, browser, say } = options;
  const inspector = await startServer(source, port);
  const address = inspector.invite();
  say(`Page: ${address}`);
  say(`Each address opens it once, on this machine only. ${inviteHint()}Ctrl-C ends it.`);
  if (browser === "open") openBrowser(address);
  const reason = await waitForEnd(inspector, () => say(`Page: ${inspector.invite()}`));
  if (reason === "idle") say("Ended: nobody has asked for 30 minutes.");
}

interface ServePageOptions {
  readonly port?: number;
  readonly browser: "open" | "leave";
  /** Writes a line to the terminal. */
  readonly say: (line: string) => void;
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

/** What the build made of the page, or an error that says what to do. */
async function pageAssets(): ReturnType<typeof readPageAssets> {
  try {
    return await readPageAssets();
  } catch (error) {
    throw new CliError((error as Error).message, ["Install the package again, or build it."], {
      cause: error,
    });
  }
}

function inviteHint(): string {
  return process.stdin.isTTY ? "Press Enter for another. " : "";
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

/** Serves the page of a session that runs: the one named, or the one of which the plugin wrote last in this home. */
export function inspectLive(sessionId: string | undefined, flags: InspectFlags): Promise<void> {
  return withStores(flags.store, (opened) => serveLive({ opened, sessionId, flags }));
}

interface LiveRequest {
  readonly opened: OpenedStores;
  readonly sessionId: string | undefined;
  readonly flags: InspectFlags;
}

async function serveLive({ opened, sessionId, flags }: LiveRequest): Promise<void> {
  const { env } = process;
  const rootSessionId = await findSession(opened, sessionId);
  const session = createFollowedSession({
    sessionId: rootSessionId,
    secrets: secretsChoice(flags),
    ...(flags.window !== undefined && { windowTokens: flags.window }),
  });
  const ask = async (sql: string): Promise<readonly unknown[]> =>
    JSON.parse((await runOpenCodeCommand(["db", sql, "--format", "json"], env)).toString("utf8"));
  const end = new AbortController();
  const patience = createProgressLine();
  patience.say(`reading ${rootSessionId}`);
  const isRead = new Promise<void>((resolve, reject) => {
    followOpenCode(session, {
      stores: opened.stores,
      rootSessionId,
      reader: createSessionReader(rootSessionId, ask),
      databaseFiles: databaseFiles(env),
      signal: end.signal,
      onFirstRead: resolve,
    }).catch(reject);
  });
  try {
    await isRead;
    patience.end();
    printerFor(flags)(`Following ${sessionLabel(session.head(), rootSessionId)}`);
    await serveUntilStopped(session, servePageOptions(flags));
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
      .map(({ rootSessionId }) => terminalText(rootSessionId, MAX_NAME_CHARS))
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

/** What `carryover inspect` is told. */
export interface InspectFlags {
  readonly json?: true;
  readonly top: number;
  readonly open?: true;
  readonly html?: string;
  readonly port?: number;
  readonly live?: true;
  readonly store?: string;
  readonly window?: number;
  readonly redact: boolean;
}

/** Throws where a wish cannot be met. */
export function checkFlags({ html, live, json, store }: InspectFlags): void {
  if (html === "") throw new CliError("--html needs the name of a file", ["Use: --html session.html"]);
  if (live && (html !== undefined || json))
    throw new CliError("--live serves a page that follows the session", ["Leave out --html and --json."]);
  if (store !== undefined && !live) throw new CliError("--store is for --live", ["Add --live."]);
}

/** Whether the page is to be served. */
export function isServed({ open, port, live }: InspectFlags): boolean {
  return open === true || live === true || port !== undefined;
}

/** How the page is to be served. */
export function servePageOptions(flags: InspectFlags): ServePageOptions {
  const { open, port } = flags;
  return { browser: open ? "open" : "leave", say: printerFor(flags), ...(port !== undefined && { port }) };
}

/** Where lines for a person go: not between what a program reads. */
export function printerFor({ json }: Pick<InspectFlags, "json">): (line: string) => void {
  const stream = json ? process.stderr : process.stdout;
  return (line) => void stream.write(`${line}\n`);
}

/** Whether the page shows secrets. */
export function secretsChoice({ redact }: Pick<InspectFlags, "redact">): SecretsChoice {
  return redact ? "redacted" : "shown";
}

/** Reads an argument that is a port. */
export function parsePort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("Give a number from 0 to 65535; 0 is any free port.");
  return port;
}

/** Writes the page with its session as one file that only its owner may read. */
export async function writePage(path: string, session: InspectedSession): Promise<void> {
  const assets = await pageAssets();
  await writeFileAtomic(path, pageOf(session, assets), { mode: 0o600 });
}

function pageOf(session: InspectedSession, assets: Awaited<ReturnType<typeof pageAssets>>): string {
  try {
    return renderSingleFile(session, assets);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CliError(
      `A session of ${session.transcript.length} messages is too long for one file`,
      ["Use --open."],
      {
        cause: error,
      },
    );
  }
}

/** Opens an address in the person's browser where there is one; says nothing when there is none, since the address is printed anyway. */
function openBrowser(address: string, env: NodeJS.ProcessEnv = process.env): void {
  const command = browserCommand(env);
  if (command === undefined) return;
  const [program, ...args] = command;
  spawn(program, [...args, address], { detached: true, stdio: "ignore" })
    .on("error", () => {})
    .unref();
}

/** The program that opens addresses, with its arguments; undefined where nobody sits before a screen. */
export function browserCommand(
  { BROWSER, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): readonly [string, ...string[]] | undefined {
  if (BROWSER) return [BROWSER];
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["cmd", "/c", "start", ""];
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}
