import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { sessionsFolder } from "../../agents/places.ts";
import { SESSION_FORMATS } from "../../formats/registry.ts";
import { type HandedOff, type HandoffOptions, handOff } from "../../handoff/handoff.ts";
import type { HandoffTarget } from "../../handoff/receivers.ts";
import { openCodeId } from "../../handoff/writers/opencode.ts";
import { claudeCode } from "../../hosts/claude-code/claude-code.ts";
import { codex } from "../../hosts/codex/codex.ts";
import { modelFacts } from "../../models/model-facts.ts";
import type { ModelRow } from "../../models/model-row.ts";
import { errorMessage } from "../../text/failure.ts";
import { estimateTokens } from "../../text/tokens/estimate-tokens.ts";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";
import { partText } from "../../transcript/content.ts";
import type { ModelRef, Transcript } from "../../transcript/message.ts";
import { modelWindowOf } from "../../transcript/model-window.ts";
import { isFolder } from "../files/find-files.ts";
import { writeFileAtomic } from "../files/write-file.ts";
import { readHostConfiguration } from "../opencode/configuration.ts";
import { findOpenCode, isVersion1, queryOpenCode, runOpenCodeCommand } from "../opencode/sessions.ts";
import { handoffFolder, writeNote } from "../sessions/notes.ts";
import type { Agent } from "../sessions/session-agents.ts";
import { CliError, EXIT_CODES } from "../terminal/cli-error.ts";
import { terminalText } from "../terminal/output.ts";

/** Writes a session for an agent in its own place, under a new id, with a note by which `purge` finds it. */
export async function deliver(transcript: Transcript, delivery: Delivery): Promise<Delivered> {
  const { agent, cwd, title, model, env, options } = delivery;
  const { target, program } = await receiverOf(agent, env);
  const head = { id: randomUUID(), cwd, at: Date.now(), newId: () => randomUUID() };
  const asked = parseModel(model);
  const used = target === "opencode" && asked === undefined ? await openCodeModel(cwd, env) : asked;
  const place = placeOf(target, { ...head, program }, env);
  const handed = handOff(transcript, {
    // The same agent knows its own tools.
    calls: options.source.format === target ? "kept" : "translated",
    ...options,
    target,
    head: { ...head, title, ...(used && { model: used }) },
  });
  if (!delivery.dryRun) await writeSession(place.path, handed.content, { id: head.id, target, env });
  return { id: head.id, cwd, place, handed, isWritten: delivery.dryRun !== true };
}

export interface Delivery {
  readonly agent: Agent;
  /** The folder in which the agent goes on. */
  readonly cwd: string;
  readonly title: string;
  /** `provider/model`, for OpenCode. */
  readonly model?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Nothing is written. */
  readonly dryRun?: boolean | undefined;
  readonly options: Omit<HandoffOptions, "target" | "head">;
}

export interface Delivered {
  readonly id: string;
  readonly cwd: string;
  readonly place: HandoffPlace;
  readonly handed: HandedOff;
  readonly isWritten: boolean;
}

/** Writes the session whole or not at all. */
async function writeSession(
  path: string,
  content: string,
  {
    id,
    target,
    env,
  }: { readonly id: string; readonly target: HandoffTarget; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  const notes = handoffFolder(env);
  for (const folder of [notes, dirname(path)]) await mkdir(folder, { recursive: true, mode: 0o700 });
  const stored = target.startsWith("opencode") && {
    sessionId: openCodeId("ses", id),
    messages: asArray(asObject(JSON.parse(content)).messages).length,
  };
  await writeNote(notes, { id, path, sizeBytes: Buffer.byteLength(content), ...stored });
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
      "Is it installed?",
    ]);
  }
}

interface Receiver {
  readonly target: HandoffTarget;
  /** The program of OpenCode. */
  readonly program: string | undefined;
}

/**
 * The model that OpenCode 1 goes on with: it asks the one that the newest message names, and refuses one that it does
 * not have. The configured one, that of the newest message, or the first that it offers.
 */
async function openCodeModel(directory: string, env: NodeJS.ProcessEnv): Promise<ModelRef> {
  const { settings } = await readHostConfiguration({ directory, env });
  const named = parseModel(asString(settings.model)) ?? (await newestModel(env)) ?? (await firstOffered(env));
  if (named !== undefined) return named;
  throw new CliError("OpenCode offers no model", ["Name one with --model <provider>/<model>."]);
}

/** A model as people write it: `provider/model`. */
function parseModel(text: string | undefined): ModelRef | undefined {
  const [, provider, id] = /^([^/\s]+)\/(\S+)$/.exec(text ?? "") ?? [];
  return provider === undefined || id === undefined ? undefined : { provider, id };
}

async function newestModel(env: NodeJS.ProcessEnv): Promise<ModelRef | undefined> {
  const [row] = await queryOpenCode(NEWEST_MODEL, env).catch(() => []);
  const { provider, id } = asObject(row);
  return parseModel(`${asString(provider)}/${asString(id)}`);
}

const NEWEST_MODEL =
  "select json_extract(data, '$.model.providerID') provider, json_extract(data, '$.model.modelID') id from message " +
  "where json_extract(data, '$.role') = 'user' and json_extract(data, '$.model.providerID') <> 'carryover' " +
  "order by time_created desc limit 1";

async function firstOffered(env: NodeJS.ProcessEnv): Promise<ModelRef | undefined> {
  const output = await runOpenCodeCommand(["models"], env).catch(() => Buffer.from(""));
  return output
    .toString("utf8")
    .split("\n")
    .map((line) => parseModel(line.trim()))
    .find((model) => model !== undefined);
}

/**
 * Tokens that the model takes with which an agent goes on: the one that was named, that of the session where the agent
 * has it, else the newest of the agent's provider.
 */
export function windowOfTarget(agent: Agent, { transcript, model, models: rows }: TargetModel): number {
  if (model !== undefined) {
    const { contextTokens, inputTokens = contextTokens } = modelFacts({ id: model }, { rows });
    return Math.min(contextTokens, inputTokens);
  }
  const { provider } = SESSION_FORMATS[agent];
  const asked = transcript.findLast((message) => message.model !== undefined)?.model;
  const isAsked =
    provider === undefined ||
    (asked !== undefined && modelFacts(asked, { rows }).family === modelFacts({ provider }).family);
  return modelWindowOf(isAsked ? transcript : [], { provider, rows }).tokens;
}

interface TargetModel {
  readonly transcript: Transcript;
  readonly model: string | undefined;
  readonly models: readonly ModelRow[] | undefined;
}

/** More would be sent with every request of the new session. */
export const MOST_HANDED_TOKENS = 136_000;

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
export function deliveryReport({ id, cwd, place, handed, isWritten }: Delivered): object {
  const { content, ...facts } = handed;
  const { path } = place;
  return { id, path, isWritten, chars: content.length, cwd, commands: commandLines(place), ...facts };
}

/** What one types to go on, from wherever one is. */
export function goOnLines({ place, cwd }: Delivered): readonly string[] {
  const cd = cwd === process.cwd() ? "" : `cd ${shellWord(cwd)} && `;
  return commandLines(place).map((line, index) => `  ${index === 0 ? cd : ""}${line}`);
}

/** The commands as one types them. */
export function commandLines({ commands }: HandoffPlace): readonly string[] {
  return commands.map((words) => words.map(shellWord).join(" "));
}

/** A word as a shell takes it, on one line. */
export function shellWord(word: string): string {
  if (CONTROLS.test(word)) return `$'${word.replace(/[\\']/g, "\\$&").replace(CONTROLS_ALL, octal)}'`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

const CONTROLS = /[\0-\x1f\x7f]/;
const CONTROLS_ALL = new RegExp(CONTROLS, "g");
const octal = (char: string): string => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;

/** Runs the commands that go on with a session, one after the other. */
export async function start({ place, cwd }: Delivered): Promise<void> {
  for (const [program, ...args] of place.commands) {
    const child = spawn(program, args, { cwd, stdio: "inherit" });
    const code = await new Promise<number | null>((done, fail) =>
      child.once("error", fail).once("close", done),
    ).catch((error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? `there is no program ${program} on the PATH` : error.message;
      throw new CliError(`Cannot go on: ${why}`, ["The session is written: go on with the command above."], {
        exitCode: EXIT_CODES.outside,
      });
    });
    if (code !== 0)
      throw new CliError(`${program} ended with code ${code}`, [], { exitCode: EXIT_CODES.outside });
  }
}

/** Where an agent looks for a session, and what makes it go on with it. */
interface HandoffPlace {
  readonly path: string;
  /** Each command with its arguments, in order; the last one is the conversation. */
  readonly commands: readonly (readonly [string, ...string[]])[];
}

interface NewSession {
  readonly id: string;
  readonly cwd: string;
  readonly at: number;
  /** The program of OpenCode, where that goes on. */
  readonly program: string | undefined;
}

/** The folder of a session, where it is still there; else the current one, with a warning. */
export function folderToGoOn(folder: string | undefined): string {
  if (folder !== undefined && isAbsolute(folder) && isFolder(folder)) return folder;
  if (folder !== undefined) {
    const gone = `the folder of the session, ${terminalText(folder, 200)}, is not there`;
    process.stderr.write(`warning: ${gone}: it goes on in ${process.cwd()}\n`);
  }
  return process.cwd();
}

/** The place of a new session in an agent's own folders, and the commands that resume it there. */
export function placeOf(target: HandoffTarget, session: NewSession, env: NodeJS.ProcessEnv): HandoffPlace {
  return PLACES[target](session, env);
}

const PLACES: Readonly<Record<HandoffTarget, (session: NewSession, env: NodeJS.ProcessEnv) => HandoffPlace>> =
  {
    "claude-code": ({ id, cwd, at }, env) => ({
      path: claudeCode.child.sessionFile({ id, atMs: at }, { directory: cwd, env }),
      commands: [["claude", "--resume", id]],
    }),
    codex: ({ id, cwd, at }, env) => ({
      path: codex.child.sessionFile({ id, atMs: at }, { directory: cwd, env }),
      commands: [["codex", "resume", id]],
    }),
    pi: ({ id, cwd, at }, env) => {
      const folder = `--${cwd.replace(/^\//, "").replace(/[/\\:]/g, "-")}--`;
      const name = `${new Date(at).toISOString().replace(/[:.]/g, "-")}_${id}.jsonl`;
      const path = join(sessionsFolder("pi", env), folder, name);
      return { path, commands: [["pi", "--session", path]] };
    },
    opencode: openCodePlace,
    opencode2: openCodePlace,
  };

/** OpenCode keeps sessions in a database: what it imports lies in a folder of ours. */
function openCodePlace({ id, program = "opencode" }: NewSession, env: NodeJS.ProcessEnv): HandoffPlace {
  const path = join(handoffFolder(env), `${id}.json`);
  return {
    path,
    commands: [
      [program, "import", path],
      [program, "--session", openCodeId("ses", id)],
    ],
  };
}
