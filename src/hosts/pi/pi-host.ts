import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { carriedWords, optionsWith, type ProgramOptions } from "../../agents/files/command-line.ts";
import type { ChildEvent, ChildProgram, ChildRights, FileAgent } from "../../agents/files/file-agent.ts";
import { createFileHost, type FileHost } from "../../agents/files/file-host.ts";
import { NOTHING_DONE, statusOf } from "../../agents/files/report.ts";
import type { AgentPlace } from "../../agents/places.ts";
import type { PiEntry } from "../../formats/files/pi/branch.ts";
import { piBeforeEdits } from "../../formats/files/pi/pi.ts";
import { OWN_TYPE, shownLines } from "../../formats/files/pi/read-pi-lines.ts";
import type { AgentHost, HostPrompt, HostSessions, HostValue } from "../../plugin/host/agent-host.ts";
import type { HostCheckpoints, HostScreen, ModelFacts } from "../../plugin/host/host-parts.ts";
import { CHILD_SESSIONS, pluginFolders } from "../../plugin/stores/folders.ts";
import { FORK_TOOLS } from "../../plugin/tools/fork-tools.ts";
import { clipLine } from "../../text/clip.ts";
import { plural } from "../../text/format-number.ts";
import { textOrJson } from "../../text/json.ts";
import { asArray, asNumber, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/**
 * pi as the plugin's host. The session that is open is read from pi's memory and spoken to through its interface; children
 * are sessions in files of ours, which pi's own program goes on with.
 */
export function createPiHost(setup: PiHostSetup): PiHost {
  const { api, current } = setup;
  const agent = createPiAgent(setup);
  const base = createFileHost(agent, setup);
  const queue = new Map<string, UnknownObject>();
  const openSession = (sessionId: string): PiContext | undefined => {
    const context = current();
    return context?.sessionManager.getSessionId() === sessionId ? context : undefined;
  };

  /** Says something in the open session; what it does at the moment is not cut short. */
  async function speak(context: PiContext, { messageId, text, reply }: HostPrompt): Promise<HostValue<void>> {
    const isStored = (): boolean =>
      context.sessionManager.getBranch().some(({ details }) => asObject(details).messageId === messageId);
    const message = { customType: OWN_TYPE, content: text, display: true, details: { messageId } };
    queue.set(messageId, { type: "custom_message", id: messageId, ...message });
    try {
      api.sendMessage(message, { triggerTurn: reply === "wanted", deliverAs: "steer" });
      for (const untilMs = Date.now() + STORE_MS; Date.now() < untilMs; await sleep(LOOK_MS))
        if (isStored()) return DONE;
      // It waits for a call to end.
      return { status: "failed", code: "no-answer", reason: "the message is not stored yet" };
    } catch (cause) {
      queue.delete(messageId);
      return { status: "failed", code: "refused", reason: String(cause) };
    }
  }

  const sessions: HostSessions = {
    ...base.sessions,
    async read(sessionId) {
      const branch = openSession(sessionId)?.sessionManager.getBranch();
      if (branch === undefined) return base.sessions.read(sessionId);
      for (const { details } of branch) queue.delete(textOrJson(asObject(details).messageId));
      const lines = [...queue.values()];
      const waiting = lines.map((line, at) => ({ ...line, parentId: (lines[at - 1] ?? branch.at(-1))?.id }));
      return { status: "ok", value: { messages: [...branch, ...waiting] } };
    },
    async status(sessionId) {
      const open = openSession(sessionId);
      return open === undefined ? base.sessions.status(sessionId) : open.isIdle() ? "idle" : "busy";
    },
    hasTool: async (sessionId, tool) =>
      openSession(sessionId) === undefined ? tool === "recall" : api.getActiveTools().includes(tool),
    prompt(message) {
      const open = openSession(message.sessionId);
      return open === undefined ? base.sessions.prompt(message) : speak(open, message);
    },
    async stop(sessionId) {
      const open = openSession(sessionId);
      if (open === undefined) return base.sessions.stop(sessionId);
      open.abort();
      return DONE;
    },
  };

  return {
    ...base,
    agent,
    get attendance(): AgentHost["attendance"] {
      return current()?.hasUI ? "attended" : "headless";
    },
    can: {
      ...base.can,
      // A program that prints one answer ends with it.
      get wakeParents() {
        return current()?.hasUI ?? false;
      },
    },
    format: { ...base.format, checkpoints },
    sessions,
    screen: createScreen(setup),
    dropQueue: () => queue.clear(),
  };
}

interface PiHostSetup extends AgentPlace {
  readonly api: PiApi;
  readonly log: AgentHost["log"];
  /** Of the newest event; undefined before the first. */
  readonly current: () => PiContext | undefined;
}

export interface PiHost extends FileHost {
  readonly agent: FileAgent;
  readonly screen: HostScreen & { draw(): Promise<void> };
  /** What was queued and is not stored by now is gone: pi drops it when its user stops the agent. */
  dropQueue(): void;
}

const DONE: HostValue<void> = { status: "ok", value: undefined };
const STORE_MS = 60_000;
const LOOK_MS = 50;

/** pi keeps what it was told to keep behind a summary. */
const checkpoints: HostCheckpoints = {
  keepsTail: true,
  find: (messages) =>
    messages.flatMap((message, index) => {
      const { type, summary } = asObject(message);
      return type === "compaction" && typeof summary === "string" ? [{ index, summary }] : [];
    }),
  write: (message, summary) => ({ ...message, summary }),
};

/** What was done in the status line, forks at work above the editor. */
function createScreen({ current, env }: PiHostSetup): PiHost["screen"] {
  const children = new Map<string, string>();
  async function draw(): Promise<void> {
    const open = current();
    if (!open?.hasUI) return;
    const { ui, sessionManager } = open;
    ui.setWidget(OWN_TYPE, children.size > 0 ? [...children.values()] : undefined);
    const forks = children.size > 0 ? [plural(children.size, "fork")] : [];
    const status = await statusOf(sessionManager.getSessionId(), env, forks);
    ui.setStatus(OWN_TYPE, status === NOTHING_DONE ? undefined : status);
  }
  return {
    toast: (text, tone) => current()?.ui.notify(text, tone === "success" ? "info" : tone),
    async show(piece) {
      if (piece.type === "child" && piece.state !== "running") children.delete(piece.key);
      else if (piece.type === "child")
        children.set(piece.key, clipLine(`⑂ ${piece.name}: ${piece.text}`, WIDGET_CHARS));
      await draw();
      return "shown";
    },
    open: async () => "not-opened",
    draw,
  };
}

const WIDGET_CHARS = 120;

/** A model as pi describes it. It compacts when less than its reserve is left, whatever the longest answer is. */
export function modelFacts(model: PiModel, settings: unknown): ModelFacts {
  const { provider, id, contextWindow, cost } = model;
  const reserve = asNumber(asObject(asObject(settings).compaction).reserveTokens) ?? RESERVE_TOKENS;
  const facts = { provider, id, contextTokens: contextWindow, outputTokens: reserve };
  return cost !== undefined && cost.input > 0 ? { ...facts, prices: cost } : facts;
}

const RESERVE_TOKENS = 16_384;

/** pi's files and its program, as measured on 1.5.0. Children have a folder of their own: pi would offer them to be resumed. */
function createPiAgent({ env, current }: PiHostSetup): FileAgent {
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

/** What we use of pi's extension interface, as of 1.5.0. */
export interface PiApi {
  on<Event extends keyof PiEvents>(event: Event, handler: PiHandler<PiEvents[Event]>): unknown;
  registerTool(tool: UnknownObject & { execute(...call: PiCall): Promise<object> }): void;
  registerCommand(name: string, command: { description: string; handler: PiHandler<string> }): void;
  /** A message written by the extension, which the model reads as the user's. */
  sendMessage(message: object, options: { readonly triggerTurn: boolean; readonly deliverAs: "steer" }): void;
  sendUserMessage(text: string, options: { readonly deliverAs: "followUp" }): void;
  getActiveTools(): readonly string[];
  setActiveTools(names: readonly string[]): void;
  getThinkingLevel(): string;
  getSettings(): unknown;
}

export type PiHandler<Event> = (event: Event, ctx: PiContext) => Promise<unknown>;

type PiCall = [id: string, args: unknown, signal: AbortSignal | undefined, onUpdate: unknown, ctx: PiContext];

export interface PiContext {
  /** A person can be asked: in the terminal, and over RPC. */
  readonly hasUI: boolean;
  readonly model: PiModel | undefined;
  readonly modelRegistry: {
    complete(model: PiModel, context: UnknownObject, options: UnknownObject): Promise<unknown>;
  };
  readonly sessionManager: {
    getSessionId(): string;
    getSessionFile(): string | undefined;
    /** From the root to the newest entry. */
    getBranch(): readonly PiEntry[];
  };
  readonly ui: {
    notify(text: string, tone: "info" | "warning" | "error"): void;
    setStatus(key: string, text: string | undefined): void;
    setWidget(key: string, lines: readonly string[] | undefined): void;
  };
  isIdle(): boolean;
  abort(): void;
}

interface PiModel {
  readonly id: string;
  readonly provider: string;
  readonly contextWindow: number;
  readonly maxTokens: number;
  /** What the model takes that others do not. */
  readonly compat?: unknown;
  /** For a million tokens. */
  readonly cost?: { readonly input: number; readonly cacheRead: number; readonly cacheWrite: number };
}

export interface PiEvents {
  session_start: unknown;
  session_shutdown: unknown;
  agent_start: unknown;
  agent_settled: { readonly aborted: boolean };
  before_agent_start: { readonly messageType: string; readonly message?: { readonly customType: string } };
  /** What is sent, system messages included, which stay where they are. */
  context_with_system: { readonly messages: readonly UnknownObject[] };
  /** The last moment at which entries are taken, and one more request can be asked for. */
  agent_before_settle: { readonly entries: readonly object[] };
  message_end: { readonly message: UnknownObject };
  /** With the entries that others want appended. */
  turn_end: { readonly entries: readonly object[] };
  tool_call: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };
  tool_result: {
    readonly toolName: string;
    readonly toolCallId: string;
    /** Set where another tool made the call, which reads the output itself. */
    readonly parentToolCallId?: string;
    readonly content: readonly unknown[];
    readonly details: unknown;
    readonly structuredContent?: unknown;
  };
  session_before_compact: {
    readonly preparation: { readonly tokensBefore: number };
    readonly customInstructions?: string;
    readonly signal: AbortSignal;
  };
  session_compact: unknown;
}
