import type { Colors } from "./colors.ts";
import type { KindProfile, SessionProfile, Size } from "./profile-session.ts";
import { renderTable } from "./render-table.ts";
import { counted, shownNumber, shownPath, shownShare, shownText } from "./shown-text.ts";

export interface InspectReportInput {
  readonly profile: SessionProfile;
  readonly title: string;
  readonly format: string;
  /** How the session was found, where nobody named it. */
  readonly found?: string;
  readonly workingDirectory?: string;
  readonly top: number;
  readonly colors: Colors;
}

/** What fills a window, for a person to read. */
export function inspectReport(input: InspectReportInput): string {
  const { profile, title, format, found, top, colors } = input;
  const { window } = profile;
  const wholeTokens = profile.byKind.reduce((sum, { tokens }) => sum + tokens, 0);
  const share = (tokens: number): string => shownShare(tokens, wholeTokens);
  const path = (name: string): string => shownPath(relative(name, input.workingDirectory), MAX_PATH_CHARS);
  const section = (name: string, rows: readonly (readonly string[])[]): readonly string[] =>
    rows.length === 0 ? [] : ["", colors.bold(name), renderTable(rows)];
  const repeated = profile.byFile.filter(({ repeatedReads }) => repeatedReads > 0);
  return [
    ...(found === undefined ? [] : [colors.dim(found)]),
    colors.bold(title),
    ...section("Window", [
      ["format", format],
      ...(profile.model === undefined ? [] : [["model", shownText(profile.model, MAX_PATH_CHARS)]]),
      ["tokens", shownNumber(window.tokens), `${range(window)}${SOURCES[window.source]}`],
      ["characters", shownNumber(window.chars)],
      ["messages", shownNumber(window.messages), ...outside(profile)],
      ["tool results", shownNumber(window.toolResults)],
    ]),
    ...section(
      "What fills it",
      profile.byKind.map((row) => kindRow(row, share(row.tokens))),
    ),
    ...section(
      "By tool",
      profile.byTool
        .slice(0, top)
        .map(({ tool, calls, failed, chars, tokens }) => [
          shownText(tool, MAX_NAME_CHARS),
          share(tokens),
          `${shownNumber(chars)} chars`,
          counted(calls, "call"),
          failed > 0 ? `${shownNumber(failed)} failed` : "",
        ]),
    ),
    ...section(
      "By file",
      profile.byFile
        .slice(0, top)
        .map((file) => [
          path(file.path),
          share(file.tokens),
          `${shownNumber(file.chars)} chars`,
          counted(file.reads, "read"),
          file.changes > 0 ? counted(file.changes, "change") : "",
        ]),
    ),
    ...section(
      "Largest",
      profile.largest.map((item) => [
        [item.kind, item.tool && shownText(item.tool, MAX_NAME_CHARS)].filter(Boolean).join(" · "),
        share(item.tokens),
        `${shownNumber(item.chars)} chars`,
        item.path === undefined ? "" : path(item.path),
        colors.dim(shownText(item.handle, MAX_PATH_CHARS)),
      ]),
    ),
    ...section("Read again", [
      ...repeated
        .slice(0, top)
        .map((file) => [
          path(file.path),
          counted(file.repeatedReads, "time"),
          `${shownNumber(file.repeatedChars)} chars`,
        ]),
      ...(profile.superseded.results === 0
        ? []
        : [
            [
              "needless by now",
              counted(profile.superseded.results, "result"),
              `${shownNumber(profile.superseded.chars)} chars`,
            ],
          ]),
    ]),
    ...section(
      "Secrets",
      profile.secrets.map(({ type, count }) => [type, shownNumber(count)]),
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
  return tokensLow === tokensHigh ? "" : `between ${shownNumber(tokensLow)} and ${shownNumber(tokensHigh)}; `;
}

function outside({ messages, chars, window, compactions }: SessionProfile): readonly string[] {
  if (compactions === 0 || messages <= window.messages) return [];
  const [gone, goneChars] = [messages - window.messages, Math.max(0, chars - window.chars)];
  return [
    `${shownNumber(gone)} more with ${shownNumber(goneChars)} chars are behind ${counted(compactions, "compaction")}`,
  ];
}

function kindRow({ kind, count, chars }: KindProfile, share: string): readonly string[] {
  return [kind, share, `${shownNumber(chars)} chars`, counted(count, "part")];
}

function relative(path: string, workingDirectory: string | undefined): string {
  return workingDirectory !== undefined && path.startsWith(`${workingDirectory}/`)
    ? path.slice(workingDirectory.length + 1)
    : path;
}
