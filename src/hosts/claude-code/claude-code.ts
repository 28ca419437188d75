import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  carriedWords,
  optionsWith,
  type ProgramOptions,
  readCommandLine,
  type StartWords,
} from "../../agents/files/command-line.ts";
import type { ChildEvent, ChildProgram, ChildRights, ParentSession } from "../../agents/files/file-agent.ts";
import { tailOf } from "../../agents/files/file-end.ts";
import type { CallingTool, HookAgent } from "../../agents/hooks/hook-agent.ts";
import type { AgentPlace } from "../../agents/places.ts";
import { folderBeside, sessionsFolder } from "../../agents/places.ts";
import type { ForbiddenTools } from "../../fork/life/child-rules.ts";
import { claudeCode as format } from "../../formats/files/claude-code/claude-code.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { claudeCodeWords } from "./tool-output.ts";

/** How it runs as the child of a fork: `claude -p --resume`, in the permission mode of the session that asks. */
const child: ChildProgram = {
  command: "claude",
  variable: "CLAUDE_BIN",
  isProgram: (path) => /claude/i.test(path),
  ownVariables:
    /^(?:CLAUDECODE|AI_AGENT|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_\w+|CLAUDE_CODE_(?:ENTRYPOINT|SESSION_ID|MESSAGING_\w+|SSE_PORT))$/,
  sessionFile: ({ id }, place) => join(projectFolder(place), `${id}.jsonl`),
  textLine: (text) => ({
    type: "user",
    uuid: "text",
    parentUuid: null,
    timestamp: new Date(0).toISOString(),
    message: { role: "user", content: text },
  }),
  rightsOf,
  resume: ({ sessionId, rights, maxUSD }) => [
    ...["-p", "--resume", sessionId, "--output-format", "stream-json", "--verbose"],
    ...(maxUSD === undefined ? [] : ["--max-budget-usd", maxUSD.toFixed(4)]),
    ...rights.args,
  ],
  readEvent,
};

/** Claude Code, as measured on 2.1.325. */
export const claudeCode: HookAgent = {
  ...claudeCodeWords,
  format,
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
  outputFolder: (file) => join(folderBeside(file), "tool-results"),
  readLine: hookTextAsMessage,
  // Only `claude -p` ends with its turn.
  isAttended: ({ CLAUDE_CODE_ENTRYPOINT }) => CLAUDE_CODE_ENTRYPOINT !== "sdk-cli",
  child,
};

/** What a hook of ours has brought of forks is a line of its own, which is no message. */
function hookTextAsMessage(line: object): object {
  const { type: kind, attachment } = asObject(line);
  const { type, content } = asObject(attachment);
  if (kind !== "attachment" || type !== "hook_additional_context") return line;
  const text = asArray(content).map(textOrJson).join("\n");
  if (!text.includes("<fork_result delivery=")) return line;
  const shown = `<system-reminder>\n${text}\n</system-reminder>`;
  return { ...line, type: "user", message: { role: "user", content: shown } };
}

/** In the mode of the parent, with the limits that it was started with; where nobody can be asked, Claude Code refuses. */
function rightsOf({ mode, startedWith }: ParentSession): ChildRights | string {
  // The session's file says the mode too, but not whether the session or a sub-agent calls.
  if (mode === undefined)
    return "No hook has said who calls and in which permission mode, so that a child might do more than its caller.";
  const carried = carriedWords(startedWith, OPTIONS);
  if (carried === undefined)
    return "This system does not tell which limits the session was started with, so that a child might do more than it.";
  // A mode that is newer than this code asks for every permission, and there is no person to grant one.
  const childMode = mode in MODES ? mode : "default";
  return {
    rank: MODES[childMode] ?? 0,
    args: ["--permission-mode", childMode, ...carried, "--disallowedTools", ...FORBIDDEN_TO_FORKS.keys()],
    ...budgetIn(startedWith),
    label: `permission mode ${childMode}`,
  };
}

/** The limit of money that the parent was started with; of several the least. */
function budgetIn(started: StartWords | undefined): Pick<ChildRights, "maxUSD"> {
  const limits = budgetsIn(started).filter((value) => !Number.isNaN(value));
  return limits.length === 0 ? {} : { maxUSD: Math.min(...limits) };
}

function budgetsIn(started: StartWords | undefined): readonly number[] {
  if (started === undefined) return [];
  const { words, isExact } = started;
  if (isExact)
    return (readCommandLine(words, OPTIONS)?.options ?? []).flatMap(({ name, values }) =>
      name === BUDGET ? values.map(Number) : [],
    );
  // Where a prompt is not told from options, what looks like a limit is one.
  return words.flatMap((word, at) => {
    const [name, value = words[at + 1]] = word.split("=");
    return name === BUDGET ? [Number(value)] : [];
  });
}

const BUDGET = "--max-budget-usd";

/** The modes by what they allow. */
const MODES: Readonly<Record<string, number>> = {
  plan: 0,
  dontAsk: 1,
  default: 1,
  acceptEdits: 2,
  auto: 3,
  bypassPermissions: 4,
};

const FORBIDDEN_TO_FORKS: ForbiddenTools = new Map([
  ["Task", "subagent"],
  ["Agent", "subagent"],
  ["Workflow", "subagent"],
  ["AskUserQuestion", "question"],
]);

/** What limits a session, or what its work depends on. */
const CARRIED = {
  ...optionsWith("nothing", "--bare --disable-slash-commands --restricted --safe-mode --strict-mcp-config"),
  ...optionsWith(
    "one",
    "--agent --agents --append-system-prompt --effort --fallback-model --model --plugin-dir --setting-sources --settings --system-prompt",
  ),
  ...optionsWith(
    "many",
    "--add-dir --allowedTools --allowed-tools --betas --disallowedTools --disallowed-tools --mcp-config --tools",
  ),
};

/** All that the program knows, hidden ones too, as read from 2.1.326. A value of its options may begin with a dash. */
const OPTIONS: ProgramOptions = {
  carried: new Set(Object.keys(CARRIED)),
  unlisted: "may take any",
  values: {
    ...CARRIED,
    ...optionsWith(
      "nothing",
      `--agents-view-if-allowed --allow-dangerously-skip-permissions --ax-screen-reader --await-claim --await-initialize
      --background --bg --brief --chrome --continue -c --cowork --dangerously-skip-permissions --deep-link-origin --desktop
      --enable-auth-status --enable-auto-mode --exclude-dynamic-system-prompt-sections --fork-session --forward-subagent-text
      --from-link --help -h --ide --include-hook-events --include-partial-messages --init --init-only --maintenance
      --managed-settings-in-initialize --no-chrome --no-session-persistence --plan-mode-required --print -p --replace
      --replay-user-messages --reply-on-resume --session-mirror --tmux --verbose --version -v --web`,
    ),
    ...optionsWith(
      "maybe",
      `--cloud --debug -d --from-pr --prompt-suggestions --rc --remote --remote-control --resume -r --teleport --worktree -w`,
    ),
    ...optionsWith(
      "one",
      `--advisor --agent-color --agent-id --agent-name --agent-type --append-subagent-system-prompt
      --append-subagent-system-prompt-file --append-system-prompt-file --autocompact --client-data-url --debug-file
      --deep-link-cwd-b64 --deep-link-last-fetch --deep-link-repo --environment --fast-mode --forward-home-settings
      --inherit-permission-mode --input-format --json-schema --lead-verify-key --managed-settings --max-budget-usd
      --max-thinking-tokens --max-turns --messaging-socket-path --name -n --output-format --parent-session-id
      --permission-mode --permission-prompt-tool --permission-prompts --plan-mode-instructions --plugin-dir-no-mcp
      --plugin-url --prefill --prefill-b64 --proactivity --project-config-root --remote-control-session-name-prefix
      --resume-drops-turn --resume-session-at --rewind-files --sdk-url --session-began-as-copy --session-id
      --system-prompt-file --system-prompt-snapshot --task-budget --team-name --teammate-mode --thinking --thinking-display
      --watch-artifact --watch-artifact-no-autoreact --workload`,
    ),
    ...optionsWith("many", "--channels --dangerously-load-development-channels --file"),
  },
};

function readEvent({ type, message, ...more }: UnknownObject): readonly ChildEvent[] {
  if (type === "assistant")
    return asArray(asObject(message).content)
      .map(asObject)
      .filter((block) => block.type === "tool_use")
      .map(({ id, name, input }) => ({
        type: "call",
        callId: textOrJson(id),
        tool: textOrJson(name),
        input,
      }));
  if (type !== "result") return [];
  const usage = Object.values(asObject(more.usage)).filter((value) => typeof value === "number");
  const tokens = usage.reduce((sum, value) => sum + value, 0);
  const spent: ChildEvent = { type: "spent", costUSD: asNumber(more.total_cost_usd) ?? 0, tokens };
  if (more.is_error !== true) return [spent];
  const said = asString(more.result) ?? asArray(more.errors).map(textOrJson).join("; ");
  return [spent, { type: "failed", message: said || textOrJson(more.subtype) }];
}

function projectFolder({ directory, env }: AgentPlace): string {
  return join(sessionsFolder("claude-code", env), directory.replaceAll(/[^A-Za-z0-9]/g, "-"));
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * The environment names the session in which the server was started: after `/clear` another one calls. A session writes its
 * lines down a moment after it has called a tool, so that without waiting a child would not know the newest of them.
 */
async function callingSession({ meta }: CallingTool, place: AgentPlace): Promise<string | undefined> {
  const started = place.env.CLAUDE_CODE_SESSION_ID;
  const callId = asString(meta["claudecode/toolUseId"]);
  if (callId === undefined) return started;
  const folder = projectFolder(place);
  for (let waitedMs = 0; waitedMs < WRITTEN_MS; waitedMs += PAUSE_MS) {
    for (const name of (await newestFiles(folder)).slice(0, MAX_LOOKED_AT))
      if (tailOf(join(folder, name), TAIL_BYTES).includes(callId)) return basename(name, ".jsonl");
    await sleep(PAUSE_MS);
  }
  return started;
}

/** How long a call may take until it is written down. That of a sub-agent never is, at least not here. */
const WRITTEN_MS = 1_500;
const PAUSE_MS = 25;

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
