import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { type HandedOff, type HandoffOptions, handOff } from "../../handoff/handoff.ts";
import type { HandoffTarget } from "../../handoff/tool-calls.ts";
import { errorMessage } from "../../text/display.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import type { Transcript } from "../../transcript/message.ts";
import { partText } from "../../transcript/part.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { findOpenCode, isVersion1 } from "../opencode/sessions.ts";
import { CliError } from "../terminal/cli-error.ts";
import { handoffFolder, writeNote } from "./notes.ts";
import { openCodeModel, parseModel } from "./opencode-model.ts";
import { type HandoffPlace, placeOf } from "./places.ts";

/** An agent as people name it; which version of OpenCode is meant is found out. */
export type Agent = "claude-code" | "codex" | "opencode" | "pi";

/** Writes a session for an agent in its own place, under a new id, with a note by which `purge` finds it. */
export async function deliver(transcript: Transcript, delivery: Delivery): Promise<Delivered> {
  const { agent, cwd, title, model, env, options } = delivery;
  const { target, program } = await receiverOf(agent, env);
  const head = { id: randomUUID(), cwd, at: Date.now(), newId: () => randomUUID() };
  const asked = parseModel(model);
  const used = target === "opencode" && asked === undefined ? await openCodeModel(cwd, env) : asked;
  const place = placeOf(target, { ...head, program }, env);
  const handed = handOff(transcript, {
    ...options,
    target,
    head: { ...head, title, ...(used && { model: used }) },
  });
  await writeSession(place.path, handed.content, { id: head.id, env });
  return { id: head.id, cwd, place, handed };
}

export interface Delivery {
  readonly agent: Agent;
  /** The folder in which the agent goes on. */
  readonly cwd: string;
  readonly title: string;
  /** `provider/model`, for OpenCode. */
  readonly model?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly options: Omit<HandoffOptions, "target" | "head">;
}

export interface Delivered {
  readonly id: string;
  readonly cwd: string;
  readonly place: HandoffPlace;
  readonly handed: HandedOff;
}

/** Writes the session whole or not at all. */
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
  if (agent !== "opencode") return { target: agent, program: undefined };
  try {
    const { program, version } = await findOpenCode(env);
    return { target: isVersion1(version) ? "opencode" : "opencode2", program };
  } catch (error) {
    throw new CliError(`OpenCode does not say which version it is: ${errorMessage(error)}`, [
      "Is it installed? OPENCODE_BIN names its program where it is not on the PATH.",
    ]);
  }
}

interface Receiver {
  readonly target: HandoffTarget;
  /** The program of OpenCode. */
  readonly program: string | undefined;
}

/** Tokens that an agent's usual model takes. */
export const WINDOW_TOKENS: Readonly<Record<Agent, number>> = {
  "claude-code": 200_000,
  codex: 272_000,
  opencode: 200_000,
  pi: 200_000,
};

/** What may be filled of a window: the agent's own prompt and the work to come need the rest. */
export const SHARE_OF_WINDOW = 0.5;

/** A budget in characters for one in tokens, by what this session's own text comes to. */
export function charsForTokens(transcript: Transcript, tokens: number): number {
  const text = transcript
    .flatMap(({ parts }) => parts.map(partText))
    .join("\n")
    .slice(0, SAMPLE_CHARS);
  const charsPerToken =
    text === "" ? 4 : text.length / Math.max(1, estimateTokens(text, { estimator: "calibrated" }));
  return Math.max(MIN_BUDGET_CHARS, Math.floor(tokens * charsPerToken));
}

const SAMPLE_CHARS = 1_000_000;
const MIN_BUDGET_CHARS = 512;

/** What was delivered, as `--json` prints it. */
export function deliveryReport({ id, place, handed: { content, ...facts } }: Delivered): object {
  return { id, path: place.path, chars: content.length, commands: commandLines(place), ...facts };
}

/** The commands as one types them. */
export function commandLines({ commands }: HandoffPlace): readonly string[] {
  return commands.map((words) => words.map(shellWord).join(" "));
}

/** A word as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Runs the commands that go on with a session, one after the other. */
export async function start({ place, cwd }: Delivered): Promise<void> {
  for (const [program, ...args] of place.commands) {
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
