import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { claudeCode as format } from "../../formats/files/claude-code/claude-code.ts";
import { asObject, asString } from "../../text/json.ts";
import { type AgentPlace, type CallingTool, type HookAgent, tailOf } from "../hooks/hook-agent.ts";
import { readOutput } from "./tool-output.ts";

/** Claude Code, as measured on 2.1.325. */
export const claudeCode: HookAgent = {
  name: "claude-code",
  format,
  readOutput,
  addContext: (hookEventName, additionalContext) =>
    JSON.stringify({ hookSpecificOutput: { hookEventName, additionalContext } }),
  // What is longer than 10,000 becomes a preview and a file; the limit is for each hook.
  context: { maxChars: 9_800, hooks: 3 },
  // Plain text: an answer in JSON is not added.
  instructSummary: (text) => text,
  addedByAgent:
    /^\s*(?:<(?:command-|local-command-|task-notification|system-reminder|bash-)|Caveat: |\[Request interrupted)/,
  windowOf(lines) {
    const boundary = lines.findLastIndex((line) => asObject(line).subtype === "compact_boundary");
    return boundary === -1 ? lines : lines.slice(boundary);
  },
  async findSession(sessionId, place) {
    const folder = projectFolder(place);
    if (sessionId === undefined) {
      const [newest] = await newestFiles(folder);
      return newest && join(folder, newest);
    }
    const direct = join(folder, `${sessionId}.jsonl`);
    if (await exists(direct)) return direct;
    // The session may have begun in another folder.
    const projects = await readdir(dirname(folder)).catch(() => []);
    for (const name of projects) {
      const file = join(dirname(folder), name, `${sessionId}.jsonl`);
      if (await exists(file)) return file;
    }
    return undefined;
  },
  callingSession,
  outputFolder: (file) => join(dirname(file), basename(file, ".jsonl"), "tool-results"),
};

function projectFolder({ directory, env }: AgentPlace): string {
  const home = env.CLAUDE_CONFIG_DIR || join(env.HOME || homedir(), ".claude");
  return join(home, "projects", directory.replaceAll(/[^A-Za-z0-9]/g, "-"));
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}

/** The environment names the session in which the server was started: after `/clear` another one calls. */
async function callingSession({ meta }: CallingTool, place: AgentPlace): Promise<string | undefined> {
  const started = place.env.CLAUDE_CODE_SESSION_ID;
  const callId = asString(meta["claudecode/toolUseId"]);
  if (callId === undefined) return started;
  const folder = projectFolder(place);
  for (const name of (await newestFiles(folder)).slice(0, MAX_LOOKED_AT))
    if ((await tailOf(join(folder, name), TAIL_BYTES)).includes(callId)) return basename(name, ".jsonl");
  return started;
}

/** The sessions of a folder, newest first. */
async function newestFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => SESSION_FILE.test(name));
  const files = await Promise.all(
    names.map(async (name) => ({ name, atMs: (await stat(join(folder, name))).mtimeMs })),
  );
  return files.sort((one, other) => other.atMs - one.atMs).map(({ name }) => name);
}

const SESSION_FILE = /^[0-9a-f-]{36}\.jsonl$/;
const MAX_LOOKED_AT = 4;

const TAIL_BYTES = 256 * 1024;
