import { join } from "node:path";
import {
  carriedWords,
  optionsWith,
  type ProgramOptions,
  readCommandLine,
  type StartWords,
} from "../../agents/files/command-line.ts";
import type { ChildEvent, ChildProgram, ChildRights, ParentSession } from "../../agents/files/file-agent.ts";
import type { ForbiddenTools } from "../../fork/life/child-rules.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { projectFolder } from "./session-files.ts";

/** How it runs as the child of a fork: `claude -p --resume`, in the permission mode of the session that asks. */
export const claudeCodeChild: ChildProgram = {
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
