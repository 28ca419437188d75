import { Command } from "commander";
import { forkContext } from "../../fork/fork.ts";
import { nameText } from "../../handoff/conversation.ts";
import { beforeText, type HandoffFacts, originalsText, whatWasDone } from "../../handoff/handoff.ts";
import {
  compactFileWithoutModel,
  type FileCompactionOptions,
} from "../../inspector/view/plan-file-compaction.ts";
import { tokenFamilyOf } from "../../models/token-family.ts";
import { pluginJournal } from "../../plugin/stores/journal.ts";
import { formatBytes, formatNumber, plural } from "../../text/format-number.ts";
import { familyCost } from "../../text/tokens/estimate-tokens.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";
import { type ModelsFlag, modelsOf, withModelsOption } from "../files/read-models.ts";
import {
  charsForTokens,
  commandLines,
  type Delivered,
  deliver,
  deliveryReport,
  folderToGoOn,
  shellWord,
  start,
} from "../handoff/deliver.ts";
import { STORE_OPTION, withStores } from "../opencode/with-stores.ts";
import {
  EmptySession,
  SESSION_ARGUMENT,
  type SessionFile,
  withSessionFile,
} from "../sessions/open-session.ts";
import { agentOf } from "../sessions/session-agents.ts";
import {
  type ContinueFlags,
  MIN_BUDGET_TOKENS,
  parseTokenBudget,
  parseWindow,
  withContinueOptions,
} from "../terminal/arguments.ts";
import { CliError } from "../terminal/cli-error.ts";
import { colorsFor, terminalText } from "../terminal/output.ts";
import { printJson } from "../terminal/print-json.ts";
import { createProgressLine } from "../terminal/progress-line.ts";
import { renderTable } from "../terminal/table.ts";
import { wrapped } from "../terminal/wrap.ts";
import { type Diagnosis, diagnose } from "./diagnose.ts";
import type { Finding } from "./lines/session-lines.ts";
import { staleThoughtsOfOpenCode } from "./lines/stale-thoughts.ts";
import { type ReadSession, readSession } from "./read-session.ts";
import { ownCommand } from "./recall.ts";
import { type RescuedStates, rescueStates } from "./session-states.ts";

/** `carryover rescue`: a session that cannot go on becomes one that can. */
export function rescueCommand(): Command {
  const command = new Command("rescue")
    .description("find out why a session cannot go on, and write one beside it that can")
    .argument("[session]", `${SESSION_ARGUMENT}; without it the newest of this machine`)
    .option("--dry-run", "say what is wrong, and write nothing")
    .option("--force", "write a new session also where nothing is wrong")
    .option(
      "--budget <tokens>",
      "most tokens of the new session; by default half of the window",
      parseTokenBudget,
    )
    .option(
      "--window <tokens>",
      "the window of the model; by default what the session says, or what is known of the model",
      parseWindow,
    )
    .option(
      "--before-compaction",
      "bring back what stood before the newest compaction, whatever its summary says",
    )
    .option(...STORE_OPTION)
    .addHelpText("after", EXAMPLES)
    .action(runRescue);
  return withModelsOption(
    withContinueOptions(command, {
      secrets: "take secrets out, or keep them",
      cwd: "the folder in which it goes on",
      go: "start the agent at once",
    }),
  );
}

const EXAMPLES = `
Examples:
  carryover rescue                        the newest session of this machine
  carryover rescue session.jsonl --dry-run
  carryover rescue 0c3182b1-f294 --go     by its id, and starts the agent
  carryover rescue --before-compaction    a summary lost what mattered
  carryover rescue state.json             what session.toJSON() gave, beside its messages

A provider that binds thoughts refuses a session for good once something before them was changed ("Invalid \`signature\` in
\`thinking\` block"): rescue leaves those thoughts out. A state.json is { "state": …, "messages": […] }.

The original is never changed. What does not fit can be read again with carryover recall, and the new session says so.`;

export interface RescueFlags extends ContinueFlags, ModelsFlag {
  readonly dryRun?: true;
  readonly force?: true;
  readonly budget?: number;
  readonly window?: number;
  readonly beforeCompaction?: true;
  readonly store?: string;
}

async function runRescue(named: string | undefined, flags: RescueFlags): Promise<void> {
  const delivered = await withSessionFile(named, process.env, async (file) => {
    const states = await rescueStates(file, flags);
    if (states !== undefined) {
      if (flags.json) printJson(reportOfStates(file.name, states));
      else process.stdout.write(`${wrapped(describeStates(file.name, states), process.stdout)}\n`);
      return undefined;
    }
    const progress = createProgressLine();
    progress.show(`reading ${file.name}`);
    const rescued = await rescue(file, flags, process.env).finally(() => progress.end());
    if (flags.json) printJson(reportOf(rescued));
    else process.stdout.write(`${wrapped(describe(rescued, flags), process.stdout)}\n`);
    return rescued.delivered;
  });
  if (delivered !== undefined && flags.go) await start(delivered);
}

/** Finds out what is wrong with a session, and writes one that can go on where something is, or where that is asked for. */
export async function rescue(
  file: SessionFile,
  flags: RescueFlags,
  env: NodeJS.ProcessEnv,
): Promise<Rescued> {
  const read = await readSession(file.path, flags.beforeCompaction ? "before-compaction" : "window");
  const session = { ...read, findings: [...read.findings, ...(await pluginFindings(read, flags))] };
  if (!session.transcript.some(({ parts }) => parts.length > 0))
    throw new EmptySession(`${file.name} has no message that could be read`);
  const diagnosis = diagnose(session, {
    windowTokens: flags.window,
    models: await modelsOf(flags),
    compaction: flags.beforeCompaction ? "undo" : "judge",
  });
  if (flags.beforeCompaction && !diagnosis.findings.some(({ problem }) => problem === "lost-compaction"))
    throw new CliError(`${file.name} has no compaction that could be taken back`, [
      "Leave --before-compaction out.",
    ]);
  const isBroken = diagnosis.findings.some(({ severity }) => severity === "broken");
  const isWanted = isBroken || flags.force === true || flags.budget !== undefined;
  const found = { file, session, diagnosis };
  const delivered = isWanted && !flags.dryRun ? await write(found, flags, env) : undefined;
  return { ...found, status: delivered ? "rescued" : isBroken ? "broken" : "healthy", delivered };
}

/** What the plugin's log of a session of OpenCode shows; nothing where it cannot be read. */
async function pluginFindings(
  { format, sessionId, transcript }: ReadSession,
  { store }: RescueFlags,
): Promise<readonly Finding[]> {
  if (!format.startsWith("opencode") || sessionId === undefined) return [];
  const read = withStores(store, ({ stores }) => stores.journal(sessionId).read());
  const content = await read.catch(() => undefined);
  if (content === undefined) return [];
  const { entries } = pluginJournal(content);
  return staleThoughtsOfOpenCode(
    transcript,
    entries.filter((entry) => entry.sessionId === sessionId),
  );
}

export interface Rescued extends Case {
  readonly status: "rescued" | "broken" | "healthy";
  readonly delivered: Delivered | undefined;
}

interface Case {
  readonly file: SessionFile;
  readonly session: ReadSession;
  readonly diagnosis: Diagnosis;
}

async function write(
  { file, session, diagnosis }: Case,
  flags: RescueFlags,
  env: NodeJS.ProcessEnv,
): Promise<Delivered> {
  const { format, cwd } = session;
  const agent = agentOf(format);
  if (agent === undefined)
    throw new CliError(`A session of ${format} cannot be written again`, [
      "Hand it to another agent: carryover handoff <file> --to claude-code.",
    ]);
  const { transcript } = diagnosis;
  const tokens = flags.budget ?? Math.max(MIN_BUDGET_TOKENS, diagnosis.budgetTokens);
  return deliver(transcript, {
    agent,
    cwd: flags.cwd ?? folderToGoOn(cwd),
    title: `Rescued ${session.sessionId ?? "session"}`,
    model: flags.model,
    env,
    options: {
      calls: "kept",
      secrets: flags.secrets === "out" ? "taken-out" : "kept",
      budgetChars: charsForTokens(transcript, Math.floor(tokens / scaleOf(transcript))),
      fold: (messages, budgetChars) => fold(messages, tokens, budgetChars),
      source: { format, path: file.name },
      notice: (facts) => noticeOf({ file, diagnosis }, facts, { flags, env }),
    },
  });
}

/** How many tokens the model of a session makes of what others make one of. */
function scaleOf(transcript: Transcript): number {
  const model = transcript.findLast((message) => message.model !== undefined)?.model;
  return model === undefined ? 1 : familyCost(tokenFamilyOf(model)).scale;
}

/**
 * The oldest messages as a summary without a model; the newest, which fit well, stay word for word: as many as leave
 * the summary whole.
 */
function fold(messages: Transcript, budgetTokens: number, budgetChars: number): Transcript {
  const said = new Set(messages.map(({ id }) => id));
  let folded = messages;
  for (const { kept, summary } of SHARES) {
    folded = foldOnce(messages, {
      windowTokens: budgetTokens * 2,
      keepTokens: Math.floor(budgetTokens * kept),
      summaryTokens: budgetTokens * summary,
    });
    const { edits } = forkContext(folded, { budgetChars, ownTools: [] });
    if (edits.every((edit) => !("messageId" in edit) || said.has(edit.messageId))) break;
  }
  return folded;
}

/** What may be taken of the budget, tried in this order. */
const SHARES = [
  { kept: 0.9, summary: 0.8 },
  { kept: 0.9, summary: 0.5 },
  { kept: 0.7, summary: 0.4 },
  { kept: 0.5, summary: 0.3 },
  { kept: 0.3, summary: 0.3 },
  { kept: 0.1, summary: 0.2 },
];

function foldOnce(messages: Transcript, options: FileCompactionOptions): Transcript {
  // What the provider counted has the reasoning in it that was never sent again, and the agent's own prompt.
  const uncounted = messages.map(({ usage: _, ...message }) => message);
  const file = { transcript: uncounted, format: "anthropic" as const };
  const folded = compactFileWithoutModel(file, options);
  if (folded.status !== "compacted") return messages;
  // A compaction clears outputs in what it keeps; here they are brought down to size by lines.
  const original = new Map(messages.map((message) => [message.id, message]));
  return folded.messages.filter(isVisibleToModel).map((message) => original.get(message.id) ?? message);
}

/** What the model reads first: what happened to the conversation, and how the rest is read again. */
function noticeOf(
  { file, diagnosis }: Pick<Case, "file" | "diagnosis">,
  facts: HandoffFacts,
  { flags, env }: { readonly flags: RescueFlags; readonly env: NodeJS.ProcessEnv },
): string {
  const broken = diagnosis.findings.filter(
    ({ severity, problem }) =>
      severity === "broken" && !(flags.beforeCompaction && problem === "lost-compaction"),
  );
  const problems = new Set(broken.map(shortOf));
  const asked = flags.beforeCompaction ? " What stood before its newest compaction is back, as asked." : "";
  const why = `${problems.size === 0 ? "" : ` It could not go on: ${[...problems].join(", ")}.`}${asked}`;
  const secrets = flags.secrets === "out" ? ["--secrets", "out"] : [];
  const recall = (name: string): string =>
    `${[...ownCommand(env), "recall", name, ...secrets].map(shellWord).join(" ")} '<words to look for, or a handle>'`;
  const from = file.isPiped ? file.name : `session ${nameText(file.name)}, which is untouched`;
  const done = `${whatWasDone(facts)}.${beforeText(facts)}`;
  const rest = restText({ file, originals: facts.originals ?? [], recall });
  return `[Rescued by Carryover from ${from}.${why} Here: ${done} ${rest}]`;
}

/** Where what is missing stands: the first original has what every copy of it left out, a copy what was said later. */
function restText({ file, originals, recall }: Sources): string {
  const isPiped = file.isPiped === true;
  if (originals.length === 0)
    return isPiped
      ? "What is missing stands only in what was piped in: it has no name by which it could be read again."
      : `What is missing can be read again in your shell: ${recall(file.name)}`;
  const names = isPiped ? originals : [...originals, file.name];
  const [first = "", ...later] = names.map(recall);
  const since = later.map((command) => `, and what was said later: ${command}`).join("");
  return `What is missing can be read again in your shell: ${first}${since}. ${originalsText(names)}`;
}

interface Sources {
  readonly file: SessionFile;
  readonly originals: readonly string[];
  readonly recall: (name: string) => string;
}

const SHORT: Readonly<Record<Finding["problem"], string>> = {
  "damaged-line": "lines were damaged",
  "byte-order-mark": "it began with a byte-order mark",
  "not-utf8": "bytes were no UTF-8",
  "no-head": "its head was missing",
  "broken-chain": "messages were not linked",
  "repeated-line": "lines were repeated",
  "other-session": "lines of another session stood in it",
  emptied: "messages were emptied",
  "lost-compaction": "a compaction had lost everything",
  "orphan-call": "calls had no results",
  "orphan-result": "results had no calls",
  "repeated-call": "calls had the same id",
  "empty-text": "texts were empty",
  "too-long": "it did not fit the window",
  refused: "the provider refused it",
  "stale-thoughts": "thoughts stood behind what was edited later",
  huge: "its file was huge",
};
const shortOf = ({ problem }: Finding): string => SHORT[problem];

function reportOf({ status, file, session, diagnosis, delivered }: Rescued): object {
  const { findings, tokens, windowTokens } = diagnosis;
  const { format, sizeBytes, lineCount } = session;
  return {
    status,
    session: { name: file.name, format, sizeBytes, lineCount, tokens, windowTokens },
    findings,
    ...(delivered && { rescued: { ...deliveryReport(delivered), cwd: delivered.cwd } }),
  };
}

function reportOfStates(name: string, { status, findings, path, sizeBytes, states }: RescuedStates): object {
  const session = { name, format: "session-state", sizeBytes, states };
  return { status, session, findings, ...(path !== undefined && { rescued: { path } }) };
}

function describe(rescued: Rescued, flags: RescueFlags): string {
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
function describeStates(name: string, { findings, status, states, path }: RescuedStates): string {
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
