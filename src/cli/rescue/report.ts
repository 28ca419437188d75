import { formatBytes, formatNumber, plural } from "../../text/format-number.ts";
import { commandLines, deliveryReport, shellWord } from "../handoff/deliver.ts";
import { colorsFor, terminalText } from "../terminal/output.ts";
import { renderTable } from "../terminal/table.ts";
import { wrapped } from "../terminal/wrap.ts";
import type { Diagnosis } from "./diagnose.ts";
import type { Finding } from "./lines/session-lines.ts";
import type { Rescued, RescueFlags } from "./rescued.ts";
import type { RescuedStates } from "./session-states.ts";

export function reportOf({ status, file, session, diagnosis, delivered }: Rescued): object {
  const { findings, tokens, windowTokens } = diagnosis;
  const { format, sizeBytes, lineCount } = session;
  return {
    status,
    session: { name: file.name, format, sizeBytes, lineCount, tokens, windowTokens },
    findings,
    ...(delivered && { rescued: { ...deliveryReport(delivered), cwd: delivered.cwd } }),
  };
}

export function reportOfStates(
  name: string,
  { status, findings, path, sizeBytes, states }: RescuedStates,
): object {
  const session = { name, format: "session-state", sizeBytes, states };
  return { status, session, findings, ...(path !== undefined && { rescued: { path } }) };
}

export function describeRescued(rescued: Rescued, flags: RescueFlags): string {
  const { file, session, diagnosis } = rescued;
  const colors = colorsFor(process.stdout);
  const { findings, tokens, windowTokens, isWindowUnknown } = diagnosis;
  const size = [
    formatBytes(session.sizeBytes),
    ...(session.lineCount === undefined ? [] : [plural(session.lineCount, "line")]),
    isWindowUnknown
      ? `${formatNumber(tokens)} tokens`
      : `${formatNumber(tokens)} of ${formatNumber(windowTokens)} tokens`,
  ];
  const broken = findings.filter(({ severity }) => severity === "broken");
  const notes = findings.filter(({ severity }) => severity === "note");
  const section = (title: string, listed: readonly Finding[]): readonly string[] =>
    listed.length === 0 ? [] : ["", colors.bold(title), tableOf(listed)];
  return [
    `${colors.bold(file.name)} (${session.format}, ${size.join(", ")})`,
    ...section("What is wrong", broken),
    ...section("Also seen", notes),
    "",
    ...endOf({ ...rescued, flags }),
  ].join("\n");
}

/** The same of states that frameworks keep. */
export function describeStates(name: string, { findings, status, states, path }: RescuedStates): string {
  const colors = colorsFor(process.stdout);
  const wrong = findings.length === 0 ? [] : ["", colors.bold("What is wrong"), tableOf(findings)];
  const end =
    path !== undefined
      ? `Written to ${path}; the original is untouched. Restore the session from it.`
      : status === "healthy"
        ? "Nothing is wrong with it, and nothing was done."
        : "Nothing was written. Where a state and all its messages stand side by side, a copy that says what to leave out is.";
  return [`${colors.bold(name)} (${plural(states, "state")} of a session)`, ...wrong, "", end].join("\n");
}

/** The texts of the last column go on below their beginning where a terminal is narrow. */
function tableOf(findings: readonly Finding[]): string {
  const rows = findings.map(rowOf);
  const indent = [0, 1].reduce(
    (sum, column) => sum + 2 + Math.max(...rows.map((row) => row[column]?.length ?? 0)),
    2,
  );
  return wrapped(renderTable(rows), process.stdout, indent);
}

const rowOf = ({ line, problem, text }: Finding): readonly string[] => [
  problem,
  line === undefined ? "" : `line ${line}`,
  terminalText(text, MAX_FINDING_CHARS),
];

const MAX_FINDING_CHARS = 300;

function endOf({
  status,
  diagnosis,
  delivered,
  flags,
}: Rescued & { readonly flags: RescueFlags }): readonly string[] {
  if (delivered === undefined) return [verdict(status, diagnosis, flags)];
  const { handed, place, cwd } = delivered;
  const cd = cwd === process.cwd() ? "" : `cd ${shellWord(cwd)} && `;
  return [
    handed.notice,
    "",
    `Written to ${place.path} (${formatNumber(handed.content.length)} characters); the original is untouched. Go on with`,
    ...commandLines(place).map((line, index) => `  ${index === 0 ? cd : ""}${line}`),
  ];
}

/** What is said where nothing was written. */
function verdict(status: Rescued["status"], { findings }: Diagnosis, { dryRun, force }: RescueFlags): string {
  if (status === "broken") return "Nothing was written. Without --dry-run a session that can go on is.";
  const healthy = findings.length === 0 ? "Nothing is wrong with it" : "None of this keeps it from going on";
  if (force) return `${healthy}. Without --dry-run, --force writes a new session all the same.`;
  const more = dryRun ? "" : ", and nothing was done";
  return `${healthy}${more}. --force writes a new session all the same.`;
}
