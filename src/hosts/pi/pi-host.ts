import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentHost, HostPrompt, HostSessions, HostValue } from "../../plugin/host/agent-host.ts";
import type { HostScreen, ModelFacts } from "../../plugin/host/host-parts.ts";
import { asArray, asNumber, asObject, asString, textOrJson, type UnknownObject } from "../../text/json.ts";
import { clipLine, plural } from "../../text/truncate.ts";
import { createFileHost, type FileHost } from "../hooks/file-host.ts";
import type { AgentPlace, ChildEvent, ChildProgram, ChildRights, FileAgent } from "../hooks/hook-agent.ts";
import { OWN_TYPE, piCheckpoints, piFormat } from "./entries.ts";
import type { PiApi, PiContext, PiModel } from "./pi-api.ts";

/**
 * pi as the plugin's host. The session that is open is read from pi's memory and spoken to through its interface; children
 * are sessions in files of ours, which pi's own program goes on with.
 */
export function createPiHost(setup: PiHostSetup): PiHost {
  const { api, current, log, directory } = setup;
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
        if (isStored()) return { status: "ok", value: undefined };
      // It waits for a call to end.
      return { status: "failed", code: "no-answer", reason: "the message is not stored yet" };
    } catch (cause) {
      queue.delete(messageId);
      return { status: "failed", code: "refused", reason: String(cause) };
    }
  }

  const sessions: HostSessions = {
    ...base.sessions,
    async get(sessionId) {
      const known = await base.sessions.get(sessionId);
      const title = openSession(sessionId)?.sessionManager.getSessionName();
      return known.status === "ok" && title !== undefined
        ? { status: "ok", value: { ...known.value, title } }
        : known;
    },
    async read(sessionId) {
      const branch = openSession(sessionId)?.sessionManager.getBranch();
      if (branch === undefined) return base.sessions.read(sessionId);
      for (const { details } of branch) queue.delete(textOrJson(asObject(details).messageId));
      let parentId = branch.at(-1)?.id;
      const waiting = [...queue.values()].map((line) => {
        const placed = { ...line, parentId };
        parentId = textOrJson(line.id);
        return placed;
      });
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
      return { status: "ok", value: undefined };
    },
  };

  return {
    ...base,
    agent,
    directory,
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
    format: { ...base.format, checkpoints: piCheckpoints },
    sessions,
    screen: createScreen(current),
    log,
    dropQueue: () => queue.clear(),
  };
}

interface PiHostSetup extends AgentPlace {
  readonly api: PiApi;
  /** Where the sessions of children are kept. */
  readonly sessionFolder: string;
  readonly log: AgentHost["log"];
  /** Of the newest event; undefined before the first. */
  readonly current: () => PiContext | undefined;
}

export interface PiHost extends FileHost {
  readonly agent: FileAgent;
  /** What was queued and is not stored by now is gone: pi drops it when its user stops the agent. */
  dropQueue(): void;
}

const STORE_MS = 60_000;
const LOOK_MS = 50;

/** Counts in the status line, forks at work above the editor. */
function createScreen(current: () => PiContext | undefined): HostScreen {
  const lines = new Map<string, string>();
  const children = new Map<string, string>();
  const draw = (): void => {
    const { ui } = current() ?? {};
    const count = (wanted: string): number => [...lines.values()].filter((label) => label === wanted).length;
    const facts = [
      ...(count("cut") > 0 ? [`${plural(count("cut"), "output")} cut`] : []),
      ...(count("pruned") > 0 ? [`pruned ${plural(count("pruned"), "time")}`] : []),
      ...(children.size > 0 ? [plural(children.size, "fork")] : []),
    ];
    ui?.setStatus(OWN_TYPE, facts.length > 0 ? `carryover: ${facts.join(" · ")}` : undefined);
    ui?.setWidget(OWN_TYPE, children.size > 0 ? [...children.values()] : undefined);
  };
  return {
    toast: (text, tone) => current()?.ui.notify(text, tone === "success" ? "info" : tone),
    async show(piece) {
      if (piece.type === "line") lines.set(piece.key, piece.label);
      if (piece.type === "child") {
        if (piece.state !== "running") children.delete(piece.key);
        else children.set(piece.key, clipLine(`⑂ ${piece.name}: ${piece.text}`, WIDGET_CHARS));
      }
      draw();
      return "shown";
    },
    open: async () => "not-opened",
  };
}

const WIDGET_CHARS = 120;

/** A model as pi describes it. It compacts when less than its reserve is left, whatever the longest answer is. */
export function modelFacts(model: PiModel, settings: unknown): ModelFacts {
  const { provider, id, contextWindow, cost } = model;
  const reserve = asNumber(asObject(asObject(settings).compaction).reserveTokens) ?? RESERVE_TOKENS;
  const facts = { provider, id, contextTokens: contextWindow, outputTokens: reserve };
  if (cost === undefined || !(cost.input > 0)) return facts;
  const { input, cacheRead, cacheWrite } = cost;
  return { ...facts, prices: { input, cacheRead, cacheWrite } };
}

const RESERVE_TOKENS = 16_384;

/** pi's files and its program, as measured on 1.5.0. Children have a folder of their own: pi would offer them to be resumed. */
function createPiAgent({ sessionFolder, current }: PiHostSetup): FileAgent {
  const fileOf = (sessionId: string): string => join(sessionFolder, `${sessionId}.jsonl`);
  const [, script = ""] = process.argv;
  const child: ChildProgram = {
    // A compiled pi has no script of its own.
    program: existsSync(script) ? [process.execPath, script] : [process.execPath],
    command: "pi",
    variable: "PI_BIN",
    isProgram: () => false,
    ownVariables: /(?!)/,
    sessionFile: ({ id }) => fileOf(id),
    textLine: (text) => ({
      type: "message",
      id: "text",
      parentId: null,
      timestamp: new Date(0).toISOString(),
      message: { role: "user", content: text, timestamp: 0 },
    }),
    rightsOf: () => "A child has what the open session has.",
    resume: ({ sessionId, rights }) => [
      ...["-p", "--mode", "json", "--session", fileOf(sessionId)],
      ...rights.args,
    ],
    readEvent,
  };
  return {
    name: "pi",
    format: piFormat,
    addedByAgent: /(?!)/,
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
  const tools = api.getActiveTools().filter((tool) => !tool.startsWith("fork"));
  return {
    rank: 1,
    args: [
      ...(model === undefined ? [] : ["--model", `${model.provider}/${model.id}`]),
      ...["--thinking", api.getThinkingLevel(), "--tools", tools.join(",")],
      ...carriedWords(process.argv.slice(2)),
    ],
    label: `tools ${tools.join(", ")}`,
  };
}

function carriedWords(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return words
    .slice(0, end === -1 ? undefined : end)
    .flatMap((word, at) =>
      ALONE.has(word) ? [word] : WITH_VALUE.has(word) ? [word, words[at + 1] ?? ""] : [],
    );
}

const ALONE: ReadonlySet<string> = new Set(
  "-ne --no-extensions --no-mcp -ns --no-skills -np --no-prompt-templates -nc --no-context-files -a --approve -na --no-approve --offline".split(
    " ",
  ),
);
const WITH_VALUE: ReadonlySet<string> = new Set(
  "-e --extension --skill --prompt-template --system-prompt --append-system-prompt --api-key -xt --exclude-tools".split(
    " ",
  ),
);

/** What a child prints: its calls as they start, and at the end of a run all its messages. */
function readEvent({ type, toolCallId, toolName, args, messages }: UnknownObject): readonly ChildEvent[] {
  if (type === "tool_execution_start")
    return [{ type: "call", callId: textOrJson(toolCallId), tool: textOrJson(toolName), input: args }];
  if (type !== "agent_end") return [];
  const answers = asArray(messages)
    .map(asObject)
    .filter(({ role }) => role === "assistant");
  const sumOf = (read: (usage: UnknownObject) => unknown): number =>
    answers.reduce((sum, { usage }) => sum + (asNumber(read(asObject(usage))) ?? 0), 0);
  const tokens = sumOf((usage) => usage.totalTokens);
  const costUSD = sumOf((usage) => asObject(usage.cost).total);
  const { stopReason, errorMessage } = answers.at(-1) ?? {};
  const failed = stopReason === "error" ? (asString(errorMessage) ?? "the model gave an error") : undefined;
  return [
    { type: "spent", costUSD, tokens },
    ...(failed === undefined ? [] : [{ type: "failed" as const, message: failed }]),
  ];
}
