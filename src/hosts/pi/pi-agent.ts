import { existsSync } from "node:fs";
import { join } from "node:path";
import { carriedWords, optionsWith, type ProgramOptions } from "../../agents/files/command-line.ts";
import type { ChildEvent, ChildProgram, ChildRights, FileAgent } from "../../agents/files/file-agent.ts";
import { piBeforeEdits } from "../../formats/files/pi/pi.ts";
import { shownLines } from "../../formats/files/pi/read-pi-lines.ts";
import { CHILD_SESSIONS, pluginFolders } from "../../plugin/stores/folders.ts";
import { FORK_TOOLS } from "../../plugin/tools/fork-tools.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import type { PiApi, PiContext, PiHostSetup } from "./pi-api.ts";

/** pi's files and its program, as measured on 1.5.0. Children have a folder of their own: pi would offer them to be resumed. */
export function createPiAgent({ env, current }: PiHostSetup): FileAgent {
  const { root } = pluginFolders({ store: undefined, env });
  const fileOf = (sessionId: string): string => join(root, CHILD_SESSIONS, `${sessionId}.jsonl`);
  const [, script = ""] = process.argv;
  const child: ChildProgram = {
    // A compiled pi has no script of its own.
    program: existsSync(script) ? [process.execPath, script] : [process.execPath],
    command: "pi",
    variable: "PI_BIN",
    isProgram: () => false,
    sessionFile: ({ id }) => fileOf(id),
    textLine: (content) => ({
      type: "message",
      id: "text",
      parentId: null,
      message: { role: "user", content },
    }),
    rightsOf: () => "A child has what the open session has.",
    resume: ({ sessionId: id, rights }) => ["-p", "--mode", "json", "--session", fileOf(id), ...rights.args],
    readEvent,
  };
  return {
    name: "pi",
    format: piBeforeEdits,
    sentLines: shownLines,
    async findSession(sessionId) {
      const { sessionManager } = current() ?? {};
      if (sessionId === undefined || sessionId === sessionManager?.getSessionId())
        return sessionManager?.getSessionFile();
      return existsSync(fileOf(sessionId)) ? fileOf(sessionId) : undefined;
    },
    child,
  };
}

/** The tools that are offered now, the model, and what pi was started with that its work depends on. */
export function rightsOf(api: PiApi, { model }: PiContext): ChildRights {
  const tools = api.getActiveTools().filter((tool) => !FORK_TOOLS.includes(tool));
  const started = { words: process.argv.slice(2), isExact: true };
  return {
    rank: 1,
    args: [
      ...(model === undefined ? [] : ["--model", `${model.provider}/${model.id}`]),
      ...["--thinking", api.getThinkingLevel(), "--tools", tools.join(",")],
      ...(carriedWords(started, OPTIONS) ?? []),
    ],
    label: `tools ${tools.join(", ")}`,
  };
}

const CARRIED = {
  ...optionsWith(
    "nothing",
    "-ne --no-extensions --no-mcp -ns --no-skills -np --no-prompt-templates -nc --no-context-files -a --approve -na --no-approve --offline",
  ),
  ...optionsWith(
    "one",
    "-e --extension --skill --prompt-template --system-prompt --append-system-prompt --api-key -xt --exclude-tools",
  ),
};

/** Those with values, as read from 1.5.0; one of an extension takes none that begins with a dash. */
const OPTIONS: ProgramOptions = {
  carried: new Set(Object.keys(CARRIED)),
  unlisted: "takes no dash",
  values: {
    ...CARRIED,
    ...optionsWith(
      "one",
      "--provider --model --models --name -n --session --session-id --session-dir --fork --tools -t --thinking --export --theme",
    ),
  },
};

/** What a child prints: its calls as they start, and at the end of a run all its messages. */
function readEvent({ type, toolCallId, toolName, args, messages }: UnknownObject): readonly ChildEvent[] {
  if (type === "tool_execution_start")
    return [{ type: "call", callId: textOrJson(toolCallId), tool: textOrJson(toolName), input: args }];
  if (type !== "agent_end") return [];
  const all = asArray(messages).map(asObject);
  const answers = all.filter(({ role }) => role === "assistant");
  const usages = answers.map(({ usage }) => asObject(usage));
  const costUSD = usages.reduce((sum, { cost }) => sum + (asNumber(asObject(cost).total) ?? 0), 0);
  const tokens = usages.reduce((sum, { totalTokens }) => sum + (asNumber(totalTokens) ?? 0), 0);
  const { stopReason, errorMessage } = answers.at(-1) ?? {};
  const spent: ChildEvent = { type: "spent", costUSD, tokens };
  if (stopReason !== "error") return [spent];
  return [spent, { type: "failed", message: asString(errorMessage) ?? "the model gave an error" }];
}
