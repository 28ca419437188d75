import { basename, dirname } from "node:path";
import { patchedFiles } from "../../agents/opencode/patched-files.ts";
import { contentText, wholeFromFile } from "../../agents/tool-output-file.ts";
import type {
  FinishedTool,
  HostTools,
  ModelTool,
  RunningTool,
  ToolOutputChange,
  WholeOutput,
} from "../../plugin/host/agent-host.ts";
import { inputSchema } from "../../plugin/tools/define-tool.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/** What OpenCode 2's tools mean. */
export const opencode2Tools: HostTools = {
  forbiddenToForks: new Map([
    ["subagent", "subagent"],
    ["question", "question"],
  ]),
  writtenFiles(tool, input) {
    const { path, patchText } = asObject(input);
    if (tool === "patch") return patchedFiles(patchText);
    const file = tool === "write" || tool === "edit" ? asString(path) : undefined;
    return file === undefined ? [] : [file];
  },
};

/** A call of a tool that is about to be made. */
export interface ToolStartEvent {
  readonly tool: string;
  readonly sessionID: string;
  readonly messageID: string;
  readonly id: string;
  readonly input: unknown;
}

/** Errors that tell the model why calls are not made. */
interface Refusals {
  of(call: ToolStartEvent, reason: string): Error;
}

/** Of calls that were made in one answer and end with an error, the host shows the first error for all: so they share one that names each. */
export function createRefusals(): Refusals {
  const shared = createLruMap<string, { readonly error: Error; readonly reasons: string[] }>(MAX_ANSWERS);
  return {
    of({ tool, messageID }, reason) {
      const { error, reasons } = shared.get(messageID) ?? { error: new Error(reason), reasons: [] };
      reasons.push(`${tool}: ${reason}`);
      if (reasons.length > 1) error.message = [...new Set(reasons)].join("\n");
      shared.set(messageID, { error, reasons });
      return error;
    },
  };
}

const MAX_ANSWERS = 256;

/** A call of a tool that has ended, as the host shows it; the result may be changed. */
export interface ToolEndEvent {
  readonly tool: string;
  readonly sessionID: string;
  readonly id: string;
  readonly status: string;
  result?: { readonly output?: unknown; readonly content?: unknown; readonly metadata?: unknown };
}

/** An output as the plugin sees it; undefined for a call that failed, and for one that gives more than text. */
export function finishedTool(event: ToolEndEvent): FinishedTool | undefined {
  if (event.status !== "completed" || event.result === undefined) return undefined;
  return {
    sessionId: event.sessionID,
    callId: event.id,
    tool: event.tool,
    get text() {
      return contentText(event.result?.content);
    },
    whole: () => wholeOutput(event),
  };
}

/** Writes a change into the result. Nothing undefined may stand in metadata, and no content may be empty: the host stores neither. */
export function changeToolResult(event: ToolEndEvent, change: ToolOutputChange): void {
  const { result } = event;
  if (result === undefined) return;
  const before = contentText(result.content) ?? "";
  const text = change.type === "append" ? before + change.text : change.text;
  const saved = change.type === "replace" ? change.saved : undefined;
  const metadata = {
    ...asObject(result.metadata),
    // Unset, the host would cut it once more.
    truncated: saved !== undefined || asObject(result.metadata).truncated === true,
    ...(saved && { carryover: withoutUndefined(saved) }),
  };
  event.result = { ...result, content: [{ type: "text", text: text === "" ? EMPTY : text }], metadata };
}

const EMPTY = "(no output)";

function withoutUndefined(value: object): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** What the tool really said: `shell` keeps the end of a long output, and names a file that has all of it. */
async function wholeOutput({ tool, result }: ToolEndEvent): Promise<WholeOutput> {
  const shown = contentText(result?.content) ?? "";
  if (tool !== "shell" || asObject(result?.metadata).truncated !== true) return { text: shown };
  // The last of its kind: a command may print one too.
  const start = shown.lastIndexOf(CUT_BY_SHELL);
  const pathStart = start + CUT_BY_SHELL.length;
  const end = shown.indexOf("]", pathStart);
  const path = start === -1 || end === -1 ? "" : shown.slice(pathStart, end);
  // The path came with the output of a command: it must not make us read any other file for it.
  if (basename(dirname(dirname(path))) !== SHELL_FOLDER) return { text: shown };
  return wholeFromFile(path, shown, end + 1);
}

const CUT_BY_SHELL = "\n\n[output truncated; full output saved to: ";

/** Where the host keeps the outputs of commands, in a folder for each project. */
const SHELL_FOLDER = "shell";

/** A tool for the model in the host's own terms. */
export function toolDefinition(name: string, tool: ModelTool, running: RunningFacts): UnknownObject {
  const { description, parameters, execute } = tool;
  return {
    name,
    description,
    input: inputSchema(parameters),
    // Else it would exist only inside the tool that runs JavaScript.
    options: { codemode: false },
    async execute(input: unknown, call: unknown) {
      const text = await execute(input, await running(asObject(call)));
      return { content: text === "" ? EMPTY : text };
    },
  };
}

/** What a running tool is told, from what the host gives to it. */
type RunningFacts = (call: UnknownObject) => Promise<RunningTool>;
