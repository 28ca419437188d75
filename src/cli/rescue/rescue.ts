import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { FormatName } from "../../formats/detect-format.ts";
import type { HandoffFacts } from "../../handoff/handoff.ts";
import { compactFileWithoutModel } from "../../inspector/view/plan-file-compaction.ts";
import { formatBytes, plural } from "../../text/display.ts";
import type { Transcript } from "../../transcript/message.ts";
import {
  type Agent,
  charsForTokens,
  commandLines,
  type Delivered,
  deliver,
  deliveryReport,
  SHARE_OF_WINDOW,
  shellWord,
  start,
} from "../handoff/deliver.ts";
import { type SessionFile, withSessionFile } from "../sessions/session-file.ts";
import { CliError, parseSize } from "../terminal/cli-error.ts";
import {
  colorsFor,
  createProgressLine,
  formatNumber,
  printJson,
  renderTable,
  terminalText,
} from "../terminal/output.ts";
import { type Diagnosis, diagnose } from "./diagnose.ts";
import type { Finding } from "./lines/session-lines.ts";
import { type ReadSession, readSession } from "./read-session.ts";
import { ownCommand } from "./recall.ts";

/** `carryover rescue`: a session that cannot go on becomes one that can. */
export function rescueCommand(): Command {
  return new Command("rescue")
    .description("find out why a session cannot go on, and write one beside it that can")
    .argument("[session]", "the file or the id of a session; without it the newest of this machine")
    .option("--dry-run", "say what is wrong, and write nothing")
    .option("--force", "write a new session also where nothing is wrong")
    .option("--budget <tokens>", "most tokens of the new session; by default half of the window", parseSize)
    .option(
      "--window <tokens>",
      "the window of the model; by default what the session says, or what is usual",
      parseSize,
    )
    .option(
      "--before-compaction",
      "bring back what stood before the newest compaction, whatever its summary says",
    )
    .addOption(new Option("--secrets <choice>", "take secrets out, or keep them").choices(["out", "keep"]))
    .option(
      "--model <provider/model>",
      "the model that goes on, for OpenCode; by default the one that it is set to",
    )
    .option("--cwd <folder>", "the folder in which it goes on; by default that of the session")
    .option("--go", "start the agent at once")
    .option("--json", "print what was found and done for a program to read")
    .addHelpText("after", EXAMPLES)
    .action(runRescue);
}

const EXAMPLES = `
Examples:
  carryover rescue                        the newest session of this machine
  carryover rescue session.jsonl --dry-run
  carryover rescue 0c3182b1-f294 --go     by its id, and starts the agent
  carryover rescue --before-compaction    a summary lost what mattered

The original is never changed. What does not fit can be read again with carryover recall, and the new session says so.`;

export interface RescueFlags {
  readonly dryRun?: true;
  readonly force?: true;
  readonly budget?: number;
  readonly window?: number;
  readonly beforeCompaction?: true;
  readonly secrets?: "out" | "keep";
  readonly model?: string;
  readonly cwd?: string;
  readonly go?: true;
  readonly json?: true;
}

async function runRescue(named: string | undefined, flags: RescueFlags): Promise<void> {
  const delivered = await withSessionFile(named, process.env, async (file) => {
    const progress = createProgressLine();
    progress.show(`reading ${file.name}`);
    const rescued = await rescue(file, flags, process.env).finally(() => progress.end());
    if (flags.json) printJson(reportOf(rescued));
    else process.stdout.write(`${describe(rescued)}\n`);
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
  const session = await readSession(file.path, flags.beforeCompaction ? "before-compaction" : "window");
  const diagnosis = diagnose(session, {
    windowTokens: flags.window,
    compaction: flags.beforeCompaction ? "undo" : "judge",
  });
  const isBroken = diagnosis.findings.some(({ severity }) => severity === "broken");
  const isWanted = isBroken || flags.force === true || flags.budget !== undefined;
  const found = { file, session, diagnosis };
  const delivered = isWanted && !flags.dryRun ? await write(found, flags, env) : undefined;
  return { ...found, status: delivered ? "rescued" : isBroken ? "broken" : "healthy", delivered };
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
  const agent = AGENTS[format];
  if (agent === undefined)
    throw new CliError(`A session of ${format} cannot be written again`, [
      "Hand it to another agent: carryover handoff <file> --to claude-code.",
    ]);
  const { transcript, windowTokens } = diagnosis;
  if (!transcript.some(({ parts }) => parts.length > 0))
    throw new CliError(`${file.name} has no message that could be read`);
  const tokens = flags.budget ?? Math.floor(windowTokens * SHARE_OF_WINDOW);
  return deliver(transcript, {
    agent,
    cwd: resolve(flags.cwd ?? (cwd !== undefined && existsSync(cwd) ? cwd : ".")),
    title: `Rescued ${session.sessionId ?? "session"}`,
    model: flags.model,
    env,
    options: {
      calls: "kept",
      secrets: flags.secrets === "out" ? "taken-out" : "kept",
      budgetChars: charsForTokens(transcript, tokens),
      fold: (messages) => fold(messages, tokens),
      source: { format, path: file.name },
      notice: (facts) => noticeOf({ file, diagnosis }, facts, { flags, env }),
    },
  });
}

const AGENTS: Readonly<Partial<Record<FormatName, Agent>>> = {
  "claude-code": "claude-code",
  codex: "codex",
  opencode: "opencode",
  opencode2: "opencode",
  pi: "pi",
};

/** The oldest messages as a summary without a model; the newest, which fit well, stay word for word. */
function fold(messages: Transcript, budgetTokens: number): Transcript {
  const file = { transcript: messages, format: "anthropic" as const };
  const folded = compactFileWithoutModel(file, {
    windowTokens: budgetTokens * 2,
    keepTokens: Math.floor(budgetTokens * KEPT_SHARE),
  });
  return folded.status === "compacted" ? folded.messages : messages;
}

const KEPT_SHARE = 0.6;

/** What the model reads first: what happened to the conversation, and how the rest is read again. */
function noticeOf(
  { file, diagnosis }: Pick<Case, "file" | "diagnosis">,
  facts: HandoffFacts,
  { flags, env }: { readonly flags: RescueFlags; readonly env: NodeJS.ProcessEnv },
): string {
  const problems = new Set(diagnosis.findings.filter(({ severity }) => severity === "broken").map(shortOf));
  const done = [
    `${plural(facts.calls, "tool call")} with ${facts.calls === 1 ? "its result" : "their results"}`,
    facts.shortened > 0 ? `${plural(facts.shortened, "part")} shortened to fit` : "",
    facts.folded > 0 ? `${plural(facts.folded, "message")} summed up without a model` : "",
    facts.leftOut > 0 ? `${plural(facts.leftOut, "message")} left out` : "",
    facts.secrets > 0 ? `${plural(facts.secrets, "secret")} taken out` : "",
    "reasoning left out",
  ].filter((text) => text !== "");
  const why = problems.size === 0 ? "" : ` It could not go on: ${[...problems].join(", ")}.`;
  const command = [
    ...ownCommand(env),
    "recall",
    file.name,
    ...(flags.secrets === "out" ? ["--secrets", "out"] : []),
  ];
  return `[Rescued by Carryover from session ${file.name}, which is untouched.${why} Here: ${done.join("; ")}. What is missing can be read again in your shell: ${command.map(shellWord).join(" ")} '<words to look for, or a handle>']`;
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

function describe({ file, session, diagnosis, delivered }: Rescued): string {
  const colors = colorsFor(process.stdout);
  const { findings, tokens, windowTokens } = diagnosis;
  const size = [
    formatBytes(session.sizeBytes),
    ...(session.lineCount === undefined ? [] : [plural(session.lineCount, "line")]),
    `${formatNumber(tokens)} of ${formatNumber(windowTokens)} tokens`,
  ];
  const broken = findings.filter(({ severity }) => severity === "broken");
  const notes = findings.filter(({ severity }) => severity === "note");
  const section = (title: string, listed: readonly Finding[]): readonly string[] =>
    listed.length === 0 ? [] : ["", colors.bold(title), renderTable(listed.map(rowOf))];
  return [
    `${colors.bold(file.name)} (${session.format}, ${size.join(", ")})`,
    ...section("What is wrong", broken),
    ...section("Also seen", notes),
    "",
    ...endOf({ isBroken: broken.length > 0, delivered }),
  ].join("\n");
}

const rowOf = ({ line, problem, text }: Finding): readonly string[] => [
  problem,
  line === undefined ? "" : `line ${line}`,
  terminalText(text, MAX_FINDING_CHARS),
];

const MAX_FINDING_CHARS = 300;

function endOf({
  isBroken,
  delivered,
}: {
  readonly isBroken: boolean;
  readonly delivered: Delivered | undefined;
}): readonly string[] {
  if (delivered === undefined)
    return [
      isBroken
        ? "Nothing was written. Without --dry-run a session that can go on is."
        : "Nothing is wrong with it, and nothing was done. --force writes a new session all the same.",
    ];
  const { handed, place, cwd } = delivered;
  const cd = cwd === process.cwd() ? "" : `cd ${shellWord(cwd)} && `;
  return [
    handed.notice,
    "",
    `Written to ${place.path} (${formatNumber(handed.content.length)} characters); the original is untouched. Go on with`,
    ...commandLines(place).map((line, index) => `  ${index === 0 ? cd : ""}${line}`),
  ];
}
