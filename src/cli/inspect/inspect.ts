import { Command } from "commander";
import { explainCost, type SessionCost } from "../../cost/explain-cost.ts";
import { readRequests } from "../../cost/read-requests.ts";
import { workingDirectoryOf } from "../../formats/read-transcript.ts";
import { createFixedSource, createInspectedSession } from "../../inspector/server/page-content.ts";
import { omitUndefined } from "../../text/json.ts";
import { formatNumber } from "../../text/truncate.ts";
import { FORCE_OPTION, outputFile } from "../files/output-file.ts";
import { type InputFile, sessionLabel } from "../files/read-input.ts";
import { STORE_OPTION } from "../opencode/with-stores.ts";
import { openSession, SESSION_ARGUMENT, sessionPath } from "../sessions/open-session.ts";
import { CliError, parseCount, parseSize, TOO_MANY } from "../terminal/cli-error.ts";
import {
  type Colors,
  colorsFor,
  createProgressLine,
  formatCount,
  formatPercent,
  printJson,
  renderSection,
  terminalPath,
  terminalText,
} from "../terminal/output.ts";
import { printOverview } from "./overview.ts";
import { profileSession, type SessionProfile, type Size } from "./profile-session.ts";
import {
  checkFlags,
  type InspectFlags,
  inspectLive,
  isServed,
  parsePort,
  printerFor,
  secretsChoice,
  servePageOptions,
  serveUntilStopped,
  writePage,
} from "./serve.ts";

/** `carryover inspect`: what fills the window of a session, as a table and as a page; the overview where no command was named. */
export function inspectCommand(view: "table" | "overview" = "table"): Command {
  return new Command("inspect")
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

async function runInspect(
  named: string | undefined,
  flags: InspectFlags,
  view: "table" | "overview",
): Promise<void> {
  checkFlags(flags);
  if (flags.live) return inspectLive(named, flags);
  const path = named === undefined ? undefined : await sessionPath(named);
  await outputFile("--html", flags.html, { inputs: path === undefined ? [] : [path], ...flags });
  const isOverview = view === "overview" && path === undefined && !flags.json && flags.html === undefined;
  const file = isOverview ? (await printOverview(flags.window)).file : await printProfile(path, flags);
  if (flags.html === undefined && !isServed(flags)) return;
  const { name, title, sessionId, format, transcript, warnings, wire } = file;
  const session = createInspectedSession(
    omitUndefined({
      name,
      title,
      sessionId,
      format,
      transcript,
      problems: warnings,
      workingDirectory: workingDirectoryOf(wire),
      windowTokens: flags.window,
      cost: costOf(file),
    }),
    secretsChoice(flags),
  );
  const page = await outputFile("--html", flags.html, { inputs: [path ?? name], ...flags });
  if (page !== undefined) {
    await writePage(page, session);
    printerFor(flags)(`Page: ${page.path}`);
  }
  if (isServed(flags)) await serveUntilStopped(createFixedSource(session), servePageOptions(flags));
}

/** What the requests of a session cost; undefined where the file says nothing about them. */
function costOf(file: InputFile): SessionCost | undefined {
  const cost = explainCost(readRequests(file));
  return cost.totals.requests === 0 ? undefined : cost;
}

/** Reads a session, prints its profile and returns it. */
async function printProfile(path: string | undefined, flags: InspectFlags): Promise<InputFile> {
  const { json, top } = flags;
  const progress = createProgressLine();
  try {
    const { file, found } = await openSession(path, { keep: "window" });
    progress.show(`measuring ${file.transcript.length} messages`);
    const profile = profileSession(file.transcript, { top, past: file.past });
    progress.end();
    const { format, reason, sessionId, title, problems, name } = file;
    if (json) {
      const head = { file: name, format, reason, sessionId, title };
      const rest = { ...profile, byFile: profile.byFile.slice(0, top), byTool: profile.byTool.slice(0, top) };
      printJson({ ...head, ...rest, problems });
    } else {
      const label = sessionLabel(file, name);
      const workingDirectory = workingDirectoryOf(file.wire);
      const colors = colorsFor(process.stdout);
      const input = { profile, title: label, format, top, colors, found, workingDirectory };
      process.stdout.write(`${inspectReport(input)}\n`);
    }
    return file;
  } finally {
    progress.end();
  }
}

interface InspectReportInput {
  readonly profile: SessionProfile;
  readonly title: string;
  readonly format: string;
  /** How the session was found, if no file was named. */
  readonly found?: string | undefined;
  readonly workingDirectory?: string | undefined;
  readonly top: number;
  readonly colors: Colors;
}

/** What fills the window of a session, for the terminal. */
export function inspectReport(input: InspectReportInput): string {
  const { profile, title, format, found, top, colors } = input;
  const { window } = profile;
  const wholeTokens = profile.byKind.reduce((sum, { tokens }) => sum + tokens, 0);
  const share = (tokens: number): string => formatPercent(tokens, wholeTokens);
  // In the measure of the window, so that what fills it adds up to it.
  const messageTokens = window.tokens - (window.outsideTokens ?? 0);
  const size = (tokens: number): string =>
    `${formatNumber(Math.round(wholeTokens === 0 ? 0 : (tokens * messageTokens) / wholeTokens))} tokens`;
  const path = (name: string): string => terminalPath(relative(name, input.workingDirectory), MAX_PATH_CHARS);
  const section = (name: string, rows: readonly (readonly string[])[]): readonly string[] =>
    renderSection(colors.bold(name), rows, process.stdout);
  const repeated = profile.byFile.filter(({ repeatedReads }) => repeatedReads > 0);
  return [
    ...(found === undefined ? [] : [colors.dim(found)]),
    colors.bold(title),
    ...section("Window", [
      ["format", format],
      ...(profile.model === undefined ? [] : [["model", terminalText(profile.model, MAX_PATH_CHARS)]]),
      ["tokens", formatNumber(window.tokens), `${range(window)}${SOURCES[window.source]}`],
      ...(window.outsideTokens === undefined
        ? []
        : [
            [
              "",
              formatNumber(window.outsideTokens),
              "of these are not in the messages: system prompt, tools",
            ],
          ]),
      ["characters", formatNumber(window.chars)],
      ["messages", formatNumber(window.messages), ...outside(profile)],
      ["tool results", formatNumber(window.toolResults)],
    ]),
    ...section(
      "What fills it",
      profile.byKind.map(({ kind, count, tokens }) => [
        kind,
        share(tokens),
        size(tokens),
        formatCount(count, "part"),
      ]),
    ),
    ...section(
      "By tool",
      profile.byTool
        .slice(0, top)
        .map(({ tool, calls, failed, tokens }) => [
          terminalText(tool, MAX_NAME_CHARS),
          share(tokens),
          size(tokens),
          formatCount(calls, "call"),
          failed > 0 ? `${formatNumber(failed)} failed` : "",
        ]),
    ),
    ...section(
      "By file",
      profile.byFile
        .slice(0, top)
        .map((file) => [
          path(file.path),
          share(file.tokens),
          size(file.tokens),
          formatCount(file.reads, "read"),
          file.changes > 0 ? formatCount(file.changes, "change") : "",
        ]),
    ),
    ...section(
      "Largest",
      profile.largest.map((item) => [
        [item.kind, item.tool && terminalText(item.tool, MAX_NAME_CHARS)].filter(Boolean).join(" · "),
        share(item.tokens),
        size(item.tokens),
        item.path === undefined ? "" : path(item.path),
        colors.dim(terminalText(item.handle, MAX_PATH_CHARS)),
      ]),
    ),
    ...section("Read again", [
      ...repeated
        .slice(0, top)
        .map((file) => [
          path(file.path),
          formatCount(file.repeatedReads, "time"),
          `${formatNumber(file.repeatedChars)} chars`,
        ]),
      ...(profile.superseded.results === 0
        ? []
        : [
            [
              "needless by now",
              formatCount(profile.superseded.results, "result"),
              `${formatNumber(profile.superseded.chars)} chars`,
            ],
          ]),
    ]),
    ...section(
      "Secrets",
      profile.secrets.map(({ type, count }) => [type, formatNumber(count)]),
    ),
  ].join("\n");
}

const MAX_PATH_CHARS = 60;
const MAX_NAME_CHARS = 30;

const SOURCES: Readonly<Record<SessionProfile["window"]["source"], string>> = {
  usage: "counted by the provider, what came later is estimated",
  heuristic: "estimated, without system prompt and tool definitions",
};

function range({ tokensLow, tokensHigh }: Size): string {
  return tokensLow === tokensHigh
    ? ""
    : `between ${formatNumber(tokensLow)} and ${formatNumber(tokensHigh)}; `;
}

function outside({ messages, chars, window, compactions }: SessionProfile): readonly string[] {
  if (compactions === 0 || messages <= window.messages) return [];
  const [gone, goneChars] = [messages - window.messages, Math.max(0, chars - window.chars)];
  return [
    `${formatNumber(gone)} more with ${formatNumber(goneChars)} chars are behind ${formatCount(compactions, "compaction")}`,
  ];
}

function relative(path: string, workingDirectory: string | undefined): string {
  return workingDirectory !== undefined && path.startsWith(`${workingDirectory}/`)
    ? path.slice(workingDirectory.length + 1)
    : path;
}
