import { formatNumber } from "../../text/format-number.ts";
import { sessionLabel } from "../files/read-input.ts";
import type { OpenedSession } from "../sessions/open-session.ts";
import {
  type Colors,
  colorsFor,
  formatCount,
  formatPercent,
  terminalPath,
  terminalText,
} from "../terminal/output.ts";
import { printJson } from "../terminal/print-json.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { renderSection } from "../terminal/table.ts";
import { profileSession, type SessionProfile, type Size } from "./profile-session.ts";

/** Prints what fills the window of a session, as tables or for a program to read, and gives it back. */
export function printProfile(opened: OpenedSession, { json, top }: ReportFlags): OpenedSession {
  const { file, found } = opened;
  const progress = createProgressLine();
  progress.show(`measuring ${file.transcript.length} messages`);
  const profile = profileSession(file.transcript, { top, past: file.past });
  progress.end();
  const { format, reason, sessionId, title, workingDirectory, problems, name } = file;
  if (json) {
    const head = { file: name, format, reason, sessionId, title };
    const rest = { ...profile, byFile: profile.byFile.slice(0, top), byTool: profile.byTool.slice(0, top) };
    printJson({ ...head, ...rest, problems });
    return opened;
  }
  const colors = colorsFor(process.stdout);
  const input = { profile, title: sessionLabel(file, name), format, top, colors, found, workingDirectory };
  process.stdout.write(`${inspectReport(input)}\n`);
  return opened;
}

interface ReportFlags {
  readonly json?: true;
  readonly top: number;
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
              "outdated",
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
