import { join } from "node:path";
import { carriedWords, optionsWith, type ProgramOptions } from "../../agents/files/command-line.ts";
import type { ChildEvent, ChildProgram, ChildRights, ParentSession } from "../../agents/files/file-agent.ts";
import { sessionsFolder } from "../../agents/places.ts";
import type { ForbiddenAct } from "../../fork/life/child-rules.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/** How it runs as the child of a fork: `codex exec resume`, in the sandbox of the session that asks. */
export const codexChild: ChildProgram = {
  command: "codex",
  variable: "CODEX_BIN",
  isProgram: (path) => /codex/i.test(path),
  ownVariables: /^CODEX_(?:THREAD_ID|SANDBOX\w*|CI|INTERNAL_\w+)$/,
  sessionFile({ id, atMs }, place) {
    const time = new Date(atMs).toISOString().slice(0, 19);
    const name = `rollout-${time.replaceAll(":", "-")}-${id}.jsonl`;
    return join(sessionsFolder("codex", place.env), ...time.slice(0, 10).split("-"), name);
  },
  textLine: (text) => ({
    timestamp: new Date(0).toISOString(),
    type: "response_item",
    payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
  }),
  rightsOf,
  // It knows no prices, and so no budget.
  resume: ({ sessionId, rights }) => [
    ...rights.args,
    ...["exec", "resume", sessionId, "--skip-git-repo-check", "--json", "-"],
  ],
  readEvent,
};

/**
 * In the sandbox of the parent's newest turn, and nobody is asked. A parent that must ask for each command has a child that
 * only reads; one that asks outside of any sandbox, a child in that of the workspace.
 */
function rightsOf({ lines, startedWith }: ParentSession): ChildRights | string {
  const turn = asObject(asObject(lines.findLast((line) => asObject(line).type === "turn_context")).payload);
  const policy = asObject(turn.sandbox_policy);
  const carried = carriedWords(startedWith, codexOptions);
  if (policy.type === undefined || carried === undefined)
    return "The sandbox of this session is not known, so that a child might do more than it.";
  if (!isPlainProfile(turn.permission_profile))
    return "This session has rules for files of its own, which cannot be handed to a child.";
  const mode = childSandbox(asString(policy.type), turn.approval_policy);
  const settings = [
    `sandbox_mode="${mode}"`,
    ...Object.values(FORBIDDEN_TO_FORKS),
    ...(mode === "workspace-write" ? workspaceSettings(policy) : []),
    ...(asString(turn.model) === undefined ? [] : [`model=${JSON.stringify(turn.model)}`]),
    ...(asString(turn.effort) === undefined ? [] : [`model_reasoning_effort=${JSON.stringify(turn.effort)}`]),
  ];
  const args = [...carried, ...settings.flatMap((setting) => ["-c", setting])];
  return { rank: SANDBOXES.indexOf(mode), args, label: `sandbox ${mode}` };
}

/** The settings that keep from a child what it must not do. */
const FORBIDDEN_TO_FORKS: Readonly<Record<Exclude<ForbiddenAct, "fork">, string>> = {
  question: 'approval_policy="never"',
  subagent: "features.multi_agent=false",
};

const SANDBOXES = ["read-only", "workspace-write", "danger-full-access"] as const;

function childSandbox(sandbox: string | undefined, approval: unknown): (typeof SANDBOXES)[number] {
  const isAsked = approval !== "never" && approval !== "on-request" && approval !== "on-failure";
  if (isAsked) return "read-only";
  if (sandbox === "danger-full-access") return approval === "never" ? sandbox : "workspace-write";
  return sandbox === "workspace-write" ? sandbox : "read-only";
}

function workspaceSettings(policy: UnknownObject): readonly string[] {
  // Of a parent without a sandbox its child gets the plain one of the workspace.
  const roots = asArray(policy.writable_roots).flatMap((root) => asString(root) ?? []);
  return [
    `sandbox_workspace_write.network_access=${policy.network_access === true}`,
    `sandbox_workspace_write.writable_roots=${JSON.stringify(roots)}`,
    `sandbox_workspace_write.exclude_tmpdir_env_var=${policy.exclude_tmpdir_env_var === true}`,
    `sandbox_workspace_write.exclude_slash_tmp=${policy.exclude_slash_tmp === true}`,
  ];
}

/** Whether a sandbox mode says all of a profile: everything may be read, and nothing is denied. */
function isPlainProfile(profile: unknown): boolean {
  const { type, file_system: files } = asObject(profile);
  if (profile === undefined || type === "disabled") return true;
  if (type !== "managed") return false;
  const entries = asArray(asObject(files).entries).map(asObject);
  const isReadable = entries.some(
    ({ path, access }) => asObject(asObject(path).value).kind === "root" && access !== "none",
  );
  return isReadable && entries.every(({ access }) => access === "read" || access === "write");
}

/** What the settings of a session depend on. */
const CARRIED = {
  ...optionsWith("nothing", "--oss --strict-config"),
  ...optionsWith("one", "-c --config --disable --enable --local-provider -p --profile"),
};

/** Those with values, as read from 0.169.0; it refuses a value that begins with a dash. */
export const codexOptions: ProgramOptions = {
  carried: new Set(Object.keys(CARRIED)),
  unlisted: "takes no dash",
  values: {
    ...CARRIED,
    ...optionsWith(
      "one",
      `--add-dir --ask-for-approval -a --cd -C --color --cyber-access-program --model -m --output-last-message -o
      --output-schema --remote --remote-auth-token-env --sandbox -s --thread-source`,
    ),
    ...optionsWith("many", "--image -i"),
  },
};

function readEvent({ type, item, usage, error }: UnknownObject): readonly ChildEvent[] {
  switch (type) {
    case "item.started": {
      const { id, type: kind, ...input } = asObject(item);
      return typeof kind === "string" && CALLS.has(kind)
        ? [{ type: "call", callId: textOrJson(id), tool: kind, input }]
        : [];
    }
    case "turn.completed": {
      const { input_tokens, output_tokens } = asObject(usage);
      return [{ type: "spent", tokens: (asNumber(input_tokens) ?? 0) + (asNumber(output_tokens) ?? 0) }];
    }
    case "turn.failed":
      return [{ type: "failed", message: asString(asObject(error).message) ?? "the turn failed" }];
    default:
      return [];
  }
}

const CALLS: ReadonlySet<string> = new Set([
  "command_execution",
  "file_change",
  "mcp_tool_call",
  "web_search",
]);
