import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { HandoffOptions } from "../../handoff/handoff.ts";
import { type InputFile, sessionLabel } from "../files/read-input.ts";
import { openSession, SESSION_ARGUMENT } from "../sessions/open-session.ts";
import { CliError, parseCount } from "../terminal/cli-error.ts";
import { formatNumber, printJson } from "../terminal/output.ts";
import {
  type Agent,
  charsForTokens,
  commandLines,
  type Delivered,
  deliver,
  deliveryReport,
  SHARE_OF_WINDOW,
  start,
  WINDOW_TOKENS,
} from "./deliver.ts";

/** `carryover handoff`: a session goes on in another agent. */
export function handoffCommand(): Command {
  return new Command("handoff")
    .description("hand a session to another coding agent, with its tool calls and results")
    .argument("[session]", `${SESSION_ARGUMENT}; without it the newest of this machine`)
    .addOption(new Option("--to <agent>", "the agent that goes on").choices(TARGETS).makeOptionMandatory())
    .option("--whole", "hand over everything, also where it does not fit the window")
    .option("--budget <tokens>", "most tokens of what is handed over", parseCount)
    .addOption(
      new Option(
        "--secrets <choice>",
        "take secrets out, or keep them; by default out where the provider changes",
      ).choices(["out", "keep"]),
    )
    .option(
      "--model <provider/model>",
      "the model that goes on, for OpenCode; by default the one that it is set to",
    )
    .option("--cwd <folder>", "the folder in which the other agent goes on", ".")
    .option("--go", "start the other agent at once")
    .option("--json", "print what was done for a program to read")
    .addHelpText("after", EXAMPLES)
    .action(runHandoff);
}

const TARGETS: readonly Agent[] = ["claude-code", "codex", "opencode", "pi"];

const EXAMPLES = `
Examples:
  carryover handoff --to codex                       the newest session goes on in Codex
  carryover handoff session.jsonl --to claude-code   that of a file in Claude Code
  carryover handoff --to pi --go                     and starts it`;

interface HandoffFlags {
  readonly to: Agent;
  readonly whole?: true;
  readonly budget?: number;
  readonly secrets?: "out" | "keep";
  readonly cwd: string;
  readonly model?: string;
  readonly go?: true;
  readonly json?: true;
}

async function runHandoff(named: string | undefined, flags: HandoffFlags): Promise<void> {
  if (flags.whole && flags.budget !== undefined)
    throw new CliError("--whole and --budget exclude each other", ["Leave one of them out."]);
  const { env } = process;
  const { file: session, isExample } = await openSession(named, { env });
  if (isExample)
    throw new CliError("There is no session of OpenCode, Claude Code, Codex or pi on this machine");
  const { transcript } = session;
  if (transcript.length === 0) throw new CliError(`${session.name} has no message that could be handed over`);
  const tokens = flags.budget ?? WINDOW_TOKENS[flags.to] * SHARE_OF_WINDOW;
  const delivered = await deliver(transcript, {
    agent: flags.to,
    cwd: resolve(flags.cwd),
    title: sessionLabel(session, "Session"),
    model: flags.model,
    env,
    options: {
      source: sourceOf(session),
      secrets: secretsChoice(session, flags),
      ...(!flags.whole && { budgetChars: charsForTokens(transcript, tokens) }),
    },
  });
  if (flags.json)
    printJson({ source: session.name, problems: session.warnings, ...deliveryReport(delivered) });
  else process.stdout.write(`${describe(delivered)}\n`);
  if (flags.go) await start(delivered);
}

function sourceOf({ format, name, sessionId, problems }: InputFile): HandoffOptions["source"] {
  // A session that was exported is no file.
  const path = existsSync(name) ? resolve(name) : name;
  return { format, path, damagedLines: problems.length, ...(sessionId !== undefined && { sessionId }) };
}

/** Whoever is asked by the other agent has not seen the secrets yet. */
function secretsChoice({ format }: InputFile, { secrets, to }: HandoffFlags): HandoffOptions["secrets"] {
  if (secrets !== undefined) return secrets === "out" ? "taken-out" : "kept";
  return format === to ? "kept" : "taken-out";
}

function describe({ handed: { notice, content }, place }: Delivered): string {
  return [
    notice,
    "",
    `Written to ${place.path} (${formatNumber(content.length)} characters). Go on with`,
    ...commandLines(place).map((line) => `  ${line}`),
  ].join("\n");
}
