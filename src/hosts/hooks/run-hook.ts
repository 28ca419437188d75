import { existsSync } from "node:fs";
import { join } from "node:path";
import { LOG_FILE, optionsFile, pluginFolders } from "../../plugin/stores/folders.ts";
import { asObject, asString, type UnknownObject } from "../../text/json.ts";
import { createLogFile } from "../log-file.ts";
import { type HookOutput, mayBeTooLong } from "./hook-agent.ts";

/**
 * One hook from start to end: reads what the agent says, decides, answers. Whatever goes wrong, it answers nothing, ends well
 * and writes one line into our log, so that the agent goes on as if we were not there. What decides is loaded only where there
 * may be something to decide: an agent waits for every hook.
 */
export async function runHook(hook: Hook): Promise<void> {
  const { env } = process;
  const log = createLogFile(join(pluginFolders({ store: undefined, env }).root, LOG_FILE));
  const late = setTimeout(() => {
    log("error", "a hook took too long and changed nothing", { event: hook.name });
    // The line is written by then, or cannot be.
    setTimeout(() => process.exit(0), WRITE_MS);
  }, hook.limitMs ?? LIMIT_MS);
  try {
    const payload = asObject(JSON.parse(await readAll(process.stdin)));
    if (!isForUs(payload, hook)) return;
    const answer = await hook.decide(payload, log);
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
  readonly readOutput: (payload: UnknownObject) => HookOutput | undefined;
  readonly decide: (
    payload: UnknownObject,
    log: ReturnType<typeof createLogFile>,
  ) => Promise<string | undefined>;
  readonly limitMs?: number;
}

/** Shorter than the agents are told to wait. */
const LIMIT_MS = 8_000;
const WRITE_MS = 100;

/** Most outputs are short: they are passed over at once, unless options of the user's may say otherwise. */
function isForUs(payload: UnknownObject, { readOutput }: Hook): boolean {
  if (asString(payload.hook_event_name) !== "PostToolUse") return true;
  const output = readOutput(payload);
  return output !== undefined && (mayBeTooLong(output) || existsSync(optionsFile(process.env)));
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
