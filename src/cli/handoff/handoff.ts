import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { conversationOf } from "../../handoff/conversation.ts";
import type { HandoffOptions } from "../../handoff/handoff.ts";
import { formatNumber } from "../../text/format-number.ts";
import { estimateMessageTokens } from "../../transcript/estimate-message.ts";
import type { Transcript } from "../../transcript/message.ts";
import { type InputFile, sessionLabel } from "../files/read-input.ts";
import { type ModelsFlag, modelsOf, withModelsOption } from "../files/read-models.ts";
import { noSession } from "../sessions/find-newest-session.ts";
import { type OpenedSession, openNamedSession, SESSION_ARGUMENT } from "../sessions/open-session.ts";
import { AGENTS, type Agent, agentOf } from "../sessions/session-agents.ts";
import { type ContinueFlags, parseTokenBudget, withContinueOptions } from "../terminal/arguments.ts";
import { CliError } from "../terminal/cli-error.ts";
import { printJson } from "../terminal/print-json.ts";
import { wrapped } from "../terminal/wrap.ts";
import {
  charsForTokens,
  type Delivered,
  deliver,
  deliveryReport,
  folderToGoOn,
  goOnLines,
  MOST_HANDED_TOKENS,
  SHARE_OF_WINDOW,
  start,
  windowOfTarget,
} from "./deliver.ts";

/** `carryover handoff`: a session goes on in another agent. */
export function handoffCommand(): Command {
  const command = new Command("handoff")
    .description("hand a session to another coding agent, with its tool calls and results")
    .argument("[session]", `${SESSION_ARGUMENT}; without it the newest of this machine`)
    .addOption(new Option("--to <agent>", "the agent that goes on").choices(AGENTS))
    .option("--whole", "hand over everything, also where it does not fit the window")
    .option("--budget <tokens>", "most tokens of what is handed over", parseTokenBudget)
    .option("--dry-run", "say what would be handed over, and write nothing")
    .addHelpText("after", EXAMPLES)
    .action(runHandoff);
  return withModelsOption(
    withContinueOptions(command, {
      secrets: "take secrets out, or keep them; by default out where the provider changes",
      cwd: "the folder in which the other agent goes on",
      go: "start the other agent at once",
    }),
  );
}

const EXAMPLES = `
Examples:
  carryover handoff --to codex                       the newest session goes on in Codex
  carryover handoff session.jsonl --to claude-code   that of a file in Claude Code
  carryover handoff --to pi --go                     and starts it`;

interface HandoffFlags extends ContinueFlags, ModelsFlag {
  readonly to: Agent;
  readonly whole?: true;
  readonly budget?: number;
  readonly dryRun?: true;
}

/** As it was typed. */
type AskedHandoff = Omit<HandoffFlags, "to"> & { readonly to?: Agent };

async function runHandoff(named: string | undefined, asked: AskedHandoff): Promise<void> {
  const { to } = asked;
  if (to === undefined)
    throw new CliError("Say which agent goes on", [`Give --to ${AGENTS.join(", --to ")}.`]);
  const flags: HandoffFlags = { ...asked, to };
  if (flags.whole && flags.budget !== undefined)
    throw new CliError("--whole and --budget exclude each other", ["Leave one of them out."]);
  if (flags.dryRun && flags.go)
    throw new CliError("--dry-run and --go exclude each other", ["Leave one of them out."]);
  const { env } = process;
  const { file: session, isExample } = await openForHandoff(named, flags);
  if (isExample) throw noSession();
  const { transcript } = session;
  if (transcript.length === 0) throw new CliError(`${session.name} has no message that could be handed over`);
  const window = windowOfTarget(flags.to, { transcript, model: flags.model, models: await modelsOf(flags) });
  const usual = Math.min(window * SHARE_OF_WINDOW, MOST_HANDED_TOKENS);
  const tokens = flags.whole ? tokensOf(transcript) : (flags.budget ?? usual);
  if (tokens > window)
    warn(`${formatNumber(tokens)} tokens are more than its model takes (${formatNumber(window)})`);
  const delivered = await deliver(transcript, {
    agent: flags.to,
    cwd: flags.cwd ?? folderToGoOn(session.workingDirectory),
    title: sessionLabel(session, "Session"),
    model: flags.model,
    env,
    dryRun: flags.dryRun,
    options: {
      source: sourceOf(session),
      secrets: secretsChoice(session, flags),
      ...(!flags.whole && { budgetChars: charsForTokens(transcript, tokens) }),
    },
  });
  if (flags.json)
    printJson({ source: session.name, problems: session.warnings, ...deliveryReport(delivered) });
  else process.stdout.write(`${wrapped(describe(delivered), process.stdout)}\n`);
  if (flags.go) await start(delivered);
}

/** A large session in the memory of its window, where nothing that is handed over was dropped with the rest. */
async function openForHandoff(named: string | undefined, { whole }: HandoffFlags): Promise<OpenedSession> {
  const { env } = process;
  if (whole) return openNamedSession(named, { env });
  const opened = await openNamedSession(named, { env, keep: "window" });
  const { past, transcript, format } = opened.file;
  if (past === undefined) return opened;
  // Where only the sender's provider can read a summary, the messages before it are handed over.
  const { unreadable } = conversationOf(transcript, { format, keep: "window" });
  return unreadable === 0 ? opened : openNamedSession(named, { env });
}

function tokensOf(transcript: Transcript): number {
  return transcript.reduce(
    (sum, message) => sum + estimateMessageTokens(message, { estimator: "calibrated" }),
    0,
  );
}

function warn(text: string): void {
  process.stderr.write(`warning: ${text}\n`);
}

function sourceOf({ format, name, sessionId, problems }: InputFile): HandoffOptions["source"] {
  // A session that was exported is no file.
  const path = existsSync(name) ? resolve(name) : name;
  const mendedLines = problems.filter(({ records }) => records !== undefined).length;
  const damagedLines = problems.length - mendedLines;
  return { format, path, damagedLines, mendedLines, ...(sessionId !== undefined && { sessionId }) };
}

/** The receiver's provider has not seen the secrets yet. */
function secretsChoice(session: InputFile, flags: HandoffFlags): HandoffOptions["secrets"] {
  if (flags.secrets !== undefined) return flags.secrets === "out" ? "taken-out" : "kept";
  return isSameAgent(session, flags) ? "kept" : "taken-out";
}

function isSameAgent({ format }: InputFile, { to }: HandoffFlags): boolean {
  return agentOf(format) === to;
}

function describe(delivered: Delivered): string {
  const { handed, place, cwd, isWritten } = delivered;
  const size = `${formatNumber(handed.content.length)} characters`;
  if (!isWritten)
    return [
      handed.notice,
      "",
      `Nothing was written. Without --dry-run ${size} go to ${place.path}, and it goes on in ${cwd}.`,
    ].join("\n");
  return [
    handed.notice,
    "",
    `Written to ${place.path} (${size}). It goes on in ${cwd}:`,
    ...goOnLines(delivered),
  ].join("\n");
}
