import { existsSync, read } from "node:fs";
import { join } from "node:path";
import { LOG_FILE, optionsFile, pluginFolders } from "../../plugin/stores/folders.ts";
import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { noteMode, waitingForks } from "../files/process-notes.ts";
import { createLogFile } from "../log-file.ts";
import { type HookWords, mayBeTooLong, REPORT_COMMAND } from "./hook-agent.ts";
import { type ReadNote, waitForNote } from "./summary-note.ts";

/**
 * One hook from start to end: reads what the agent says, decides, answers. Whatever goes wrong, it answers nothing, ends well
 * and writes one line into our log, so that the agent goes on as if we were not there. What decides is loaded only where there
 * may be something to decide: an agent waits for every hook.
 */
export async function runHook(hook: Hook): Promise<void> {
  const { env } = process;
  const log = createLogFile(join(pluginFolders({ store: undefined, env }).root, LOG_FILE));
  let isReading = true;
  const late = setTimeout(() => {
    log("error", "a hook took too long and changed nothing", { event: hook.name });
    // The line is written by then, or cannot be. A process that still reads would wait for that when it exits.
    setTimeout(() => (isReading ? process.kill(process.pid, "SIGKILL") : process.exit(0)), WRITE_MS);
  }, hook.limitMs ?? LIMIT_MS);
  try {
    const payload = asObject(JSON.parse(await readInput()));
    isReading = false;
    const answer = await answerOf(payload, { hook, log });
    if (answer !== undefined) process.stdout.write(answer);
  } catch (cause) {
    log("error", "a hook failed and changed nothing", {
      event: hook.name,
      cause: String(cause).slice(0, 500),
    });
  } finally {
    clearTimeout(late);
  }
}

export interface Hook {
  /** For the log. */
  readonly name: string;
  readonly agent: Pick<HookWords, "name" | "readOutput" | "addContext">;
  /** Which of several hooks of one moment this is, from 1. */
  readonly part: number;
  readonly decide: (payload: UnknownObject, known: KnownToHook) => Promise<string | undefined>;
  readonly limitMs?: number;
}

interface KnownToHook {
  readonly log: ReturnType<typeof createLogFile>;
  /** What the note on a summary said, where there may be one. */
  readonly noted?: ReadNote | undefined;
}

/** Shorter than the agents are told to wait. */
const LIMIT_MS = 8_000;
const WRITE_MS = 1_000;

async function answerOf(
  payload: UnknownObject,
  { hook, log }: { readonly hook: Hook } & KnownToHook,
): Promise<string | undefined> {
  if (payload.hook_event_name === "PreToolUse") return beforeFork(payload);
  if (!isForUs(payload, hook)) return undefined;
  const noted = await readNoted(payload, hook);
  if (noted?.pieces === undefined || hook.part === 1) return hook.decide(payload, { log, noted });
  const piece = noted.pieces[hook.part - 1];
  return piece === undefined ? undefined : hook.agent.addContext("SessionStart", piece);
}

/** What is restored after a summary, as far as it was prepared: of several hooks at once only the first loads anything. */
async function readNoted(
  { hook_event_name, source, transcript_path, session_id }: UnknownObject,
  { agent: { name }, part }: Hook,
): Promise<ReadNote | undefined> {
  const { env } = process;
  const file = asString(transcript_path);
  if (hook_event_name !== "SessionStart" || source !== "compact" || file === undefined) return undefined;
  // With options the note may lie elsewhere, or is not wanted.
  if (existsSync(optionsFile(env))) return undefined;
  const folder = pluginFolders({ store: undefined, env }).root;
  return waitForNote({ folder, agent: name, sessionId: asString(session_id) ?? "unknown" }, { part, file });
}

/**
 * Notes the mode in which a fork is asked for; without a note none is started. The server is not told who asks, and a
 * sub-agent may do less than the session, whose rules a child would have.
 */
function beforeFork(payload: UnknownObject): string | undefined {
  if (payload.agent_id === undefined) {
    noteMode(process.env, asString(payload.tool_use_id) ?? "", asString(payload.permission_mode) ?? "");
    return undefined;
  }
  const hookSpecificOutput = {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason:
      "A sub-agent cannot start forks or speak to them: a fork might do more than you may. Do it yourself, or say in your report that a fork would help.",
  };
  return JSON.stringify({ hookSpecificOutput });
}

/**
 * Most outputs are short: they are passed over at once, unless options of the user's may say otherwise, or a fork may have
 * ended.
 */
function isForUs(payload: UnknownObject, { agent }: Hook): boolean {
  const { env } = process;
  const event = asString(payload.hook_event_name);
  const isAwaited = waitingForks(env, asString(payload.session_id) ?? "").length > 0;
  if (event === "UserPromptSubmit") return isAwaited || REPORT_COMMAND.test(asString(payload.prompt) ?? "");
  if (isAwaited) return true;
  if (event !== "PostToolUse") return true;
  const output = agent.readOutput(payload);
  return output !== undefined && (mayBeTooLong(output) || existsSync(optionsFile(process.env)));
}

/** What the agent says, from the file itself: opening it as a stream takes a quarter of a short hook. */
async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for (;;) {
      const chunk = await readChunk();
      if (chunk.length === 0) return Buffer.concat(chunks).toString("utf8");
      chunks.push(chunk);
    }
  } catch {
    // One that is not opened for waiting.
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString("utf8");
  }
}

function readChunk(): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.allocUnsafe(CHUNK_BYTES);
    read(STDIN, bytes, 0, bytes.length, null, (error, count) =>
      error === null ? resolve(bytes.subarray(0, count)) : reject(error),
    );
  });
}

const STDIN = 0;
const CHUNK_BYTES = 64 * 1024;
