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
import { ownCommand } from "../recall.ts";
import { type SessionFile, withSessionFile } from "../sessions/session-file.ts";
import { CliError, parseSize } from "../terminal/cli-error.ts";
import { colorsFor, createProgressLine, formatNumber, printJson, renderTable } from "../terminal/output.ts";
import { type Diagnosis, diagnose } from "./diagnose.ts";
import type { Finding } from "./lines/session-lines.ts";
import { type ReadSession, readSession } from "./read-session.ts";

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

interface RescueFlags {
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

async function runRescue(wanted: string | undefined, flags: RescueFlags): Promise<void> {
  const delivered = await withSessionFile(wanted, process.env, (opened) => rescue(opened, flags));
  if (delivered !== undefined && flags.go) await start(delivered);
}

async function rescue(opened: SessionFile, flags: RescueFlags): Promise<Delivered | undefined> {
  const progress = createProgressLine();
  progress.show(`reading ${opened.name}`);
  const keep = flags.beforeCompaction ? "all" : "window";
  const session = await readSession(opened.path, keep).finally(() => progress.end());
  const diagnosis = diagnose(session, {
    windowTokens: flags.window,
    compaction: flags.beforeCompaction ? "undo" : "judge",
  });
  const isBroken = diagnosis.findings.some(({ severity }) => severity === "broken");
  const isWanted = isBroken || flags.force === true || flags.budget !== undefined;
  const delivered =
    isWanted && !flags.dryRun ? await write({ opened, session, diagnosis, flags }) : undefined;
  const status = delivered ? "rescued" : isBroken ? "broken" : "healthy";
  if (flags.json) printJson(reportOf(status, { opened, session, diagnosis, delivered }));
  else process.stdout.write(`${describe({ opened, session, diagnosis, delivered })}\n`);
  return delivered;
}

interface Case {
  readonly opened: SessionFile;
  readonly session: ReadSession;
  readonly diagnosis: Diagnosis;
}

async function write({
  opened,
  session,
  diagnosis,
  flags,
}: Case & { readonly flags: RescueFlags }): Promise<Delivered> {
  const { format, cwd } = session;
  const agent = AGENTS[format];
  if (agent === undefined)
    throw new CliError(`A session of ${format} cannot be written again`, [
      "Hand it to another agent: carryover handoff <file> --to claude-code.",
    ]);
  const { transcript, windowTokens } = diagnosis;
  if (!transcript.some(({ parts }) => parts.length > 0))
    throw new CliError(`${opened.name} has no message that could be read`);
  const tokens = flags.budget ?? Math.floor(windowTokens * SHARE_OF_WINDOW);
  return deliver(transcript, {
    agent,
    cwd: resolve(flags.cwd ?? (cwd !== undefined && existsSync(cwd) ? cwd : ".")),
    title: `Rescued ${session.sessionId ?? "session"}`,
    model: flags.model,
    env: process.env,
    options: {
      calls: "kept",
      secrets: flags.secrets === "out" ? "taken-out" : "kept",
      budgetChars: charsForTokens(transcript, tokens),
      fold: (messages) => fold(messages, tokens),
      source: { format, path: opened.name },
      notice: (facts) => noticeOf({ opened, session, diagnosis }, facts, flags),
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
function noticeOf({ opened, diagnosis }: Case, facts: HandoffFacts, { secrets }: RescueFlags): string {
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
    ...ownCommand(process.env),
    "recall",
    opened.name,
    ...(secrets === "out" ? ["--secrets", "out"] : []),
  ];
  return `[Rescued by Carryover from session ${opened.name}, which is untouched.${why} Here: ${done.join("; ")}. What is missing can be read again in your shell: ${command.map(shellWord).join(" ")} '<words to look for, or a handle>']`;
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

interface Outcome extends Case {
  readonly delivered: Delivered | undefined;
}

function reportOf(status: string, { opened, session, diagnosis, delivered }: Outcome): object {
  const { findings, tokens, windowTokens } = diagnosis;
  const { format, sizeBytes, lineCount } = session;
  return {
    status,
    session: { name: opened.name, format, sizeBytes, lineCount, tokens, windowTokens },
    findings,
    ...(delivered && { rescued: { ...deliveryReport(delivered), cwd: delivered.cwd } }),
  };
}

function describe({ opened, session, diagnosis, delivered }: Outcome): string {
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
    `${colors.bold(opened.name)} (${session.format}, ${size.join(", ")})`,
    ...section("What is wrong", broken),
    ...section("Also seen", notes),
    "",
    ...endOf({ isBroken: broken.length > 0, delivered }),
  ].join("\n");
}

const rowOf = ({ line, problem, text }: Finding): readonly string[] => [
  problem,
  line === undefined ? "" : `line ${line}`,
  text,
];

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
