import { constants } from "node:buffer";
import { spawn } from "node:child_process";
import { Command, InvalidArgumentError } from "commander";
import { explainCost, type SessionCost } from "../../cost/explain-cost.ts";
import { readRequests } from "../../cost/read-requests.ts";
import { readPageAssets } from "../../inspector/server/page-assets.ts";
import { renderSingleFile } from "../../inspector/server/page-html.ts";
import {
  type EndReason,
  type ServedInspector,
  serveInspector,
} from "../../inspector/server/serve-inspector.ts";
import { createFixedSource, type SessionSource } from "../../inspector/server/session-source.ts";
import { createInspectedSession, givenWindow } from "../../inspector/view/inspected-session.ts";
import type { InspectedSession } from "../../inspector/view/types.ts";
import type { ModelRow } from "../../models/model-row.ts";
import { omitUndefined } from "../../text/unknown-value.ts";
import { type InputFile, sessionLabel } from "../files/read-input.ts";
import { type ModelsFlag, modelsOf, windowOfFile, withModelsOption } from "../files/read-models.ts";
import { FORCE_OPTION, type OutputFile, outputFile, writeOutputFile } from "../files/write-file.ts";
import { STORE_OPTION } from "../opencode/with-stores.ts";
import {
  type OpenedSession,
  openNamedSession,
  SESSION_ARGUMENT,
  sessionPath,
} from "../sessions/open-session.ts";
import { parseCount, parseSize } from "../terminal/arguments.ts";
import { CliError, TOO_MANY } from "../terminal/cli-error.ts";

/** `carryover inspect`: what fills the window of a session, as a table and as a page; the overview where no command was named. */
export function inspectCommand(view: "table" | "overview" = "table"): Command {
  return withModelsOption(new Command("inspect"))
    .description("show what fills the window of a session; without a file, of the newest one on this machine")
    .argument("[session]", SESSION_ARGUMENT)
    .option("--json", "print for a program to read")
    .option("--top <n>", "how many tools, files and items are listed", parseCount, 10)
    .option("--open", "serve the page on this machine and open it in the browser")
    .option("--html <file>", "write the page as one file that needs nothing else")
    .option(...FORCE_OPTION)
    .option(
      "--live",
      "follow a session that runs with the plugin, in OpenCode, Claude Code or Codex: the newest, or the one named",
    )
    .option(...STORE_OPTION)
    .option("--port <n>", "serve the page on this port; any free one when unset", parsePort)
    .option("--window <tokens>", "the window of the model, for the page", parseSize)
    .option("--no-redact", "show secrets on the page")
    .addHelpText("after", EXAMPLES)
    .allowExcessArguments()
    .action((named: string | undefined, flags: InspectFlags, { args }: Command) => {
      if (args.length > 1)
        throw new CliError(
          `inspect shows one session, and ${args.length} were named`,
          ["`carryover stats` sums up many, `carryover cost` says what a folder of them cost."],
          { cause: { code: TOO_MANY } },
        );
      return runInspect(named, flags, view);
    });
}

const EXAMPLES = `
Examples:
  carryover inspect
  carryover inspect ~/.claude/projects/my-project/0240bd7a.jsonl
  carryover inspect session.jsonl --open
  carryover inspect session.jsonl --html session.html
  carryover inspect --live --open
  opencode export ses_abc | carryover inspect -
  carryover inspect session.json --json | jq '{format, messages, tokens}'`;

/** The flags of `carryover inspect`. */
interface InspectFlags extends ModelsFlag {
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

async function runInspect(
  named: string | undefined,
  flags: InspectFlags,
  view: "table" | "overview",
): Promise<void> {
  checkFlags(flags);
  const { html, json, live, store, window: windowTokens } = flags;
  const models = await modelsOf(flags);
  const secrets = flags.redact ? "redacted" : "shown";
  const print = printerFor(flags);
  if (live) {
    const { followSession } = await import("./live.ts");
    const serve = (session: SessionSource, label: string): Promise<void> => {
      print(`Following ${label}`);
      return serveUntilStopped(session, flags);
    };
    return followSession(named, { store, secrets, windowTokens, models, serve });
  }
  const path = named === undefined ? undefined : await sessionPath(named);
  const pageFile = (inputs: readonly string[]): Promise<OutputFile | undefined> | undefined =>
    html === undefined ? undefined : outputFile("--html", html, { inputs, ...flags });
  await pageFile(path === undefined ? [] : [path]);
  const open = (): Promise<OpenedSession> => openNamedSession(path, { keep: "window" });
  // Whoever opens the page reads it there; measuring the session for a table would only keep them waiting.
  const isPageOnly = isServed(flags) && !json;
  const isOverview = view === "overview" && path === undefined && !json && html === undefined;
  const { file } = isPageOnly
    ? await openNamed(open, print)
    : isOverview
      ? await (await import("./overview.ts")).printOverview({ windowTokens, models })
      : await (await import("./report.ts")).printProfile(await open(), flags);
  if (html === undefined && !isServed(flags)) return;
  const { name, title, sessionId, workingDirectory, format, transcript, warnings } = file;
  const session = createInspectedSession(
    omitUndefined({
      name,
      title,
      sessionId,
      format,
      transcript,
      problems: warnings,
      workingDirectory,
      window: windowTokens === undefined ? windowOfFile(file, models) : givenWindow(windowTokens),
      models,
      cost: costOf(file, models),
    }),
    secrets,
  );
  const page = await pageFile([path ?? name]);
  if (page !== undefined) {
    await writePage(page, session);
    print(`Page: ${page.path}`);
  }
  if (isServed(flags)) await serveUntilStopped(createFixedSource(session), flags);
}

/** Opens a session and says which it is. */
async function openNamed(
  open: () => Promise<OpenedSession>,
  print: (line: string) => void,
): Promise<OpenedSession> {
  const opened = await open();
  if (opened.found !== undefined) print(opened.found);
  print(sessionLabel(opened.file, opened.file.name));
  return opened;
}

/** What the requests of a session cost; undefined where the file says nothing about them. */
function costOf(file: InputFile, models: readonly ModelRow[] | undefined): SessionCost | undefined {
  const cost = explainCost(readRequests(file), { models });
  return cost.totals.requests === 0 ? undefined : cost;
}

/** Throws where flags exclude each other. */
function checkFlags({ html, live, json, store }: InspectFlags): void {
  if (live && (html !== undefined || json))
    throw new CliError("--live serves a page that follows the session", ["Leave out --html and --json."]);
  if (store !== undefined && !live) throw new CliError("--store is for --live", ["Add --live."]);
}

/** True if the page is to be served. */
function isServed({ open, port, live }: InspectFlags): boolean {
  return open === true || live === true || port !== undefined;
}

/** Prints lines for the user: to standard error with `--json`, so that standard output stays JSON. */
function printerFor({ json }: InspectFlags): (line: string) => void {
  const stream = json ? process.stderr : process.stdout;
  return (line) => void stream.write(`${line}\n`);
}

/** Serves the page until Ctrl-C, or until half an hour has passed without a request. The access token is only in the printed address. */
async function serveUntilStopped(source: SessionSource, flags: InspectFlags): Promise<void> {
  const { port = 0, open } = flags;
  const print = printerFor(flags);
  const inspector = await startServer(source, port);
  const address = inspector.invite();
  const hint = process.stdin.isTTY ? "Press Enter for another. " : "";
  // Listens before the address is printed: a signal may come as soon as it is.
  const ended = waitForEnd(inspector, () => print(`Page: ${inspector.invite()}`));
  print(`Page: ${address}`);
  print(`Each address opens it once, on this machine only. ${hint}Ctrl-C ends it.`);
  if (open) openBrowser(address);
  if ((await ended) === "idle") print("Ended: nobody has asked for 30 minutes.");
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

/** Parses an argument that is a port. */
function parsePort(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError("Give a number from 0 to 65535; 0 is any free port.");
  return port;
}

/** Writes the page with its session as one file that only its owner can read. */
async function writePage(file: OutputFile, session: InspectedSession): Promise<void> {
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
