import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Command, Option } from "commander";
import { type HandedOff, type HandoffOptions, handOff } from "../../handoff/handoff.ts";
import type { HandoffTarget } from "../../handoff/tool-calls.ts";
import { errorMessage } from "../../text/display.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import type { Transcript } from "../../transcript/message.ts";
import { partText } from "../../transcript/part.ts";
import { type InputFile, openInput, sessionLabel } from "../files/read-input.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { findNewestSession } from "../inspect/find-newest-session.ts";
import { findOpenCode } from "../opencode/sessions.ts";
import { CliError, parseCount } from "../terminal/cli-error.ts";
import { formatNumber } from "../terminal/output.ts";
import { handoffFolder, writeNote } from "./notes.ts";
import { openCodeModel, parseModel } from "./opencode-model.ts";
import { type HandoffPlace, placeOf } from "./places.ts";

/** `carryover handoff`: a session goes on in another agent. */
export function handoffCommand(): Command {
  return new Command("handoff")
    .description("hand a session to another coding agent, with its tool calls and results")
    .argument("[session]", "the file of a session; without it the newest of this machine")
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

type Agent = "claude-code" | "codex" | "opencode" | "pi";
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

async function runHandoff(path: string | undefined, flags: HandoffFlags): Promise<void> {
  if (flags.whole && flags.budget !== undefined)
    throw new CliError("--whole and --budget exclude each other", ["Leave one of them out."]);
  const { env } = process;
  const session = path === undefined ? (await findNewestSession(env)).file : await openInput(path);
  if (session.transcript.length === 0)
    throw new CliError(`${session.name} has no message that could be handed over`);
  const { target, program } = await receiverOf(flags.to, env);
  const head = { id: randomUUID(), cwd: resolve(flags.cwd), at: Date.now(), newId: () => randomUUID() };
  const asked = parseModel(flags.model);
  const model = target === "opencode" && asked === undefined ? await openCodeModel(head.cwd, env) : asked;
  const place = placeOf(target, { ...head, program }, env);
  const handed = handOff(session.transcript, {
    target,
    head: { ...head, title: sessionLabel(session, "Session"), ...(model && { model }) },
    source: sourceOf(session),
    secrets: secretsChoice(session, flags),
    ...(!flags.whole && { budgetChars: budgetChars(session.transcript, flags) }),
  });
  await writeSession(place.path, handed.content, { id: head.id, env });
  if (flags.json) process.stdout.write(`${JSON.stringify(reportOf(handed, place, head.id), null, 2)}\n`);
  else process.stdout.write(`${describe(handed, place)}\n`);
  if (flags.go) await start(place, head.cwd);
}

/** Writes the session whole or not at all, with a note by which `purge` finds it. */
async function writeSession(
  path: string,
  content: string,
  { id, env }: { readonly id: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  const notes = handoffFolder(env);
  for (const folder of [notes, dirname(path)]) await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeNote(notes, { id, path, sizeBytes: Buffer.byteLength(content) });
  await writeFileAtomic(path, content, { mode: 0o600 });
}

/** The two versions of OpenCode import different files: the one that is installed decides. */
async function receiverOf(agent: Agent, env: NodeJS.ProcessEnv): Promise<Receiver> {
  if (agent !== "opencode") return { target: agent };
  try {
    const { program, version } = await findOpenCode(env);
    return { target: /(?:^|v)1\./.test(version) ? "opencode" : "opencode2", program };
  } catch (error) {
    throw new CliError(`OpenCode does not say which version it is: ${errorMessage(error)}`, [
      "Is it installed? OPENCODE_BIN names its program where it is not on the PATH.",
    ]);
  }
}

interface Receiver {
  readonly target: HandoffTarget;
  /** The program of OpenCode. */
  readonly program?: string;
}

function sourceOf({ format, name, sessionId }: InputFile): HandoffOptions["source"] {
  return { format, path: resolve(name), ...(sessionId !== undefined && { sessionId }) };
}

/** Whoever is asked by the other agent has not seen the secrets yet. */
function secretsChoice({ format }: InputFile, { secrets, to }: HandoffFlags): HandoffOptions["secrets"] {
  if (secrets !== undefined) return secrets === "out" ? "taken-out" : "kept";
  return format === to ? "kept" : "taken-out";
}

/** Tokens that an agent's model takes, of which its own prompt and the work to come need a part. */
const WINDOW_TOKENS: Readonly<Record<Agent, number>> = {
  "claude-code": 200_000,
  codex: 272_000,
  opencode: 200_000,
  pi: 200_000,
};
const SHARE_OF_WINDOW = 0.5;

/** A budget in characters for one in tokens, by what this session's own text comes to. */
function budgetChars(transcript: Transcript, { budget, to }: HandoffFlags): number {
  const tokens = budget ?? WINDOW_TOKENS[to] * SHARE_OF_WINDOW;
  const text = transcript
    .flatMap(({ parts }) => parts.map(partText))
    .join("\n")
    .slice(0, SAMPLE_CHARS);
  const charsPerToken = text === "" ? 4 : text.length / Math.max(1, estimateTokens(text));
  return Math.max(MIN_BUDGET_CHARS, Math.floor(tokens * charsPerToken));
}

const SAMPLE_CHARS = 1_000_000;
const MIN_BUDGET_CHARS = 512;

function reportOf({ content, ...facts }: HandedOff, { path, commands }: HandoffPlace, id: string): object {
  return {
    id,
    path,
    chars: content.length,
    commands: commands.map((words) => words.map(shellWord).join(" ")),
    ...facts,
  };
}

function describe({ notice, content }: HandedOff, { path, commands }: HandoffPlace): string {
  const words = commands.map((each) => `  ${each.map(shellWord).join(" ")}`);
  return [
    notice,
    "",
    `Written to ${path} (${formatNumber(content.length)} characters). Go on with`,
    ...words,
  ].join("\n");
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

async function start({ commands }: HandoffPlace, cwd: string): Promise<void> {
  for (const [program, ...args] of commands) {
    const child = spawn(program, args, { cwd, stdio: "inherit" });
    const code = await new Promise<number | null>((done, fail) =>
      child.once("error", fail).once("close", done),
    ).catch((error: NodeJS.ErrnoException) => {
      throw new CliError(`Cannot start ${program}: ${error.message}`, [
        "Is it installed? The session is written.",
      ]);
    });
    if (code !== 0) throw new CliError(`${program} ended with code ${code}`);
  }
}
