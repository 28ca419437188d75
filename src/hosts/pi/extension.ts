import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import type { AgentPlugin, ModelTool, RunningTool } from "../../plugin/host/agent-host.ts";
import type { RequestEntry } from "../../plugin/host/host-parts.ts";
import { createPlugin } from "../../plugin/plugin.ts";
import { CHILD_SESSIONS, LOG_FILE, optionsFile, pluginFolders } from "../../plugin/stores/folders.ts";
import { readForks } from "../../plugin/stores/plugin-stores.ts";
import { asArray, asNumber, asObject, asString, textOrJson, type UnknownObject } from "../../text/json.ts";
import { CHILD_VARIABLE } from "../hooks/child-process.ts";
import { reportOf } from "../hooks/report.ts";
import { createLogFile } from "../log-file.ts";
import { HOOK_MS } from "../opencode/hooks.ts";
import { inTime } from "../opencode/sessions.ts";
import { inputSchema } from "../opencode2/tools.ts";
import { forkLines, listLine } from "../opencode2/tui/lines.ts";
import { type BranchView, draftsFor, finishedTool, OWN_TYPE, readBranch } from "./entries.ts";
import type { PiApi, PiContext } from "./pi-api.ts";
import { createPiHost, modelFacts, type PiHost, rightsOf } from "./pi-host.ts";

/**
 * The plugin as an extension of pi. What is pruned is appended to the session as `context_edit` entries when a turn ends, so
 * that it is sent the same way without us; a summary of ours is the session's own compaction. Whatever fails has no effect.
 */
export async function extendPi(api: PiApi): Promise<void> {
  const { env } = process;
  const directory = process.cwd();
  const { root } = pluginFolders({ store: undefined, env });
  const log = createLogFile(join(root, LOG_FILE));
  let open: PiContext | undefined;
  const host = createPiHost({
    ...{ api, env, directory, log, sessionFolder: join(root, CHILD_SESSIONS) },
    current: () => open,
  });
  const isChild = Boolean(env[CHILD_VARIABLE]);
  const plugin = createPlugin(host, await readOptions(env), { env, ...(isChild && { scope: "child" }) });
  host.childProcesses.listen(plugin);

  /** A handler that is late or fails has no effect. */
  const on: PiApi["on"] = (event, handler) =>
    api.on(event, async (given, ctx) => {
      open = ctx;
      try {
        const limitMs = event === "session_before_compact" ? COMPACTION_MS : HOOK_MS;
        return await inTime(Promise.resolve(handler(given, ctx)), limitMs);
      } catch (cause) {
        log("error", `${event} failed and changed nothing`, { cause: String(cause) });
        return undefined;
      }
    });
  addHandlers(on, { api, host, plugin });
  for (const [name, tool] of Object.entries(plugin.tools))
    api.registerTool(toolDefinition(name, tool, (ctx, callId) => runningTool({ api, host, ctx, callId })));
  if (!isChild) addCommands(api, { host, plugin, setOpen: (ctx) => (open = ctx) });
}

interface Parts {
  readonly api: PiApi;
  readonly host: PiHost;
  readonly plugin: AgentPlugin;
}

/** A model may write for minutes. */
const COMPACTION_MS = 5 * 60_000;

/**
 * The options file that agents without a place for options have in common. pi's own summary takes no words of ours, so that
 * unless the user chose otherwise its model is asked by us: for a summary beside which facts and pins stand.
 */
async function readOptions(env: NodeJS.ProcessEnv): Promise<unknown> {
  const text = await readFile(optionsFile(env), "utf8").catch(() => "{}");
  try {
    return { compaction: "own-model", ...(JSON.parse(text) as object) };
  } catch {
    return `${optionsFile(env)} is no JSON`;
  }
}

function addHandlers(on: PiApi["on"], { api, host, plugin }: Parts): void {
  const idOf = (ctx: PiContext): string => ctx.sessionManager.getSessionId();

  /** The window as the plugin wants it sent. */
  async function edited(ctx: PiContext): Promise<BranchView & { readonly messages: readonly object[] }> {
    const view = readBranch(ctx.sessionManager.getBranch());
    const messages: object[] = [...view.window];
    const { model } = ctx;
    if (model === undefined) return { ...view, messages };
    const sessionId = idOf(ctx);
    const facts = modelFacts(model, api.getSettings());
    await plugin.onSignal({ type: "request", sessionId, model: facts });
    const answer = view.window.findLast(({ message }) => asObject(message).role === "assistant");
    const lastAnswerAtMs = asNumber(asObject(answer?.message).timestamp);
    const request = { sessionId, messages, model: { provider: facts.provider, id: facts.id } };
    await plugin.beforeRequest({ ...request, ...(lastAnswerAtMs !== undefined && { lastAnswerAtMs }) });
    return { ...view, messages };
  }

  on("session_start", async () => {
    const [own, active] = [Object.keys(plugin.tools), api.getActiveTools()];
    // In a session that went on without us once, pi leaves all of them out for good.
    if (!own.some((name) => active.includes(name))) api.setActiveTools([...active, ...own]);
    await plugin.onSignal({ type: "ready" });
  });
  on("session_shutdown", async () => {
    host.childProcesses.endAll();
    await plugin.dispose();
  });
  on("agent_start", async (_, ctx) => plugin.onSignal({ type: "busy", sessionId: idOf(ctx) }));
  on("agent_settled", async ({ aborted }, ctx) => {
    const sessionId = idOf(ctx);
    host.dropQueue();
    if (aborted)
      await plugin.onSignal({ type: "failed", sessionId, error: { kind: "aborted", message: "stopped" } });
    await plugin.onSignal({ type: "idle", sessionId });
  });
  on("before_agent_start", async ({ message }, ctx) => {
    const from = message?.customType === OWN_TYPE ? "plugin" : "user";
    const texts = await plugin.onUserMessage({ sessionId: idOf(ctx), messageId: randomUUID(), from });
    if (texts.length === 0) return undefined;
    return { message: { customType: OWN_TYPE, content: texts.join("\n\n"), display: true } };
  });
  on("context", async ({ messages }, ctx) => {
    const { window, messages: lines } = await edited(ctx);
    // What belongs behind a summary of pi's own cannot be appended to it.
    const summaries = new Map(window.map(({ id, summary }) => [summary, id]));
    const now = new Map(lines.map(asObject).map(({ id, summary }) => [id, summary]));
    const shown = messages.map((message) => {
      const summary =
        message.role === "compactionSummary" ? now.get(summaries.get(message.summary)) : undefined;
      return typeof summary === "string" && summary !== message.summary ? { ...message, summary } : message;
    });
    return shown.some((message, index) => message !== messages[index]) ? { messages: shown } : undefined;
  });
  on("message_end", async ({ message }, ctx) => {
    if (message.role !== "assistant") return undefined;
    const request = requestEntry(message);
    const isFinished = message.stopReason !== "toolUse";
    return plugin.onSignal({ type: "answer", sessionId: idOf(ctx), isFinished, request });
  });
  on("turn_end", async (_, ctx) => {
    const { messages, ...view } = await edited(ctx);
    const entries = draftsFor(view, messages);
    return entries.length > 0 ? { entries } : undefined;
  });
  on("tool_call", async ({ toolName, toolCallId, input }, ctx) => {
    const call = { sessionId: idOf(ctx), callId: toolCallId, tool: toolName, input };
    const reason = await plugin.beforeTool(call);
    return reason === undefined ? undefined : { block: true, reason };
  });
  on("tool_result", async (event, ctx) => {
    if (event.parentToolCallId !== undefined) return undefined;
    const tool = finishedTool(event, idOf(ctx));
    await plugin.afterTool(tool.finished, tool.change);
    const content = tool.changed();
    return content && { content, structuredContent: event.structuredContent };
  });
  on("session_before_compact", async ({ preparation, customInstructions, signal }, ctx) => {
    const { provider, id } = ctx.model ?? {};
    const asked = createSummarizer(ctx, { customInstructions, signal });
    const compacted = await plugin.compact({
      sessionId: idOf(ctx),
      ...(provider !== undefined && id !== undefined && { model: { provider, id } }),
      messages: async () => readBranch(ctx.sessionManager.getBranch()).window,
      summarizer: asked.summarizer,
    });
    if (compacted === undefined) {
      await plugin.beforeCompaction({ sessionId: idOf(ctx) });
      return undefined;
    }
    const { summary, firstKeptId: firstKeptEntryId = null } = compacted;
    const { tokensBefore } = preparation;
    const usage = asked.usage();
    return {
      compaction: { summary, firstKeptEntryId, tokensBefore, ...(usage === undefined ? {} : { usage }) },
    };
  });
  on("session_compact", async (_, ctx) => plugin.onSignal({ type: "compacted", sessionId: idOf(ctx) }));
}

/** Asks the model of the session, as pi does for a summary of its own; its cost is pi's to count. */
function createSummarizer(ctx: PiContext, { customInstructions, signal }: SummaryWish): AskedModel {
  let usage: unknown;
  const summarizer: Summarizer = {
    async summarize({ system, prompt, maxOutputTokens }, options) {
      if (ctx.model === undefined) throw new Error("no model is chosen");
      const wish = customInstructions ? `\n\nThe user asks of the summary: ${customInstructions}` : "";
      const content = [{ type: "text", text: prompt + wish }];
      const answer = asObject(
        await ctx.modelRegistry.complete(
          ctx.model,
          { systemPrompt: system, messages: [{ role: "user", content, timestamp: Date.now() }] },
          {
            maxTokens: Math.min(maxOutputTokens, ctx.model.maxTokens),
            signal: AbortSignal.any([signal, options.signal]),
            cacheRetention: "none",
          },
        ),
      );
      usage = answer.usage;
      if (answer.stopReason === "error") throw new Error(asString(answer.errorMessage) ?? "no summary came");
      return asArray(answer.content)
        .map((block) => asString(asObject(block).text) ?? "")
        .join("");
    },
  };
  return { summarizer, usage: () => usage };
}

interface AskedModel {
  readonly summarizer: Summarizer;
  usage(): unknown;
}

interface SummaryWish {
  readonly customInstructions: string | undefined;
  readonly signal: AbortSignal;
}

function requestEntry({
  responseId,
  timestamp,
  provider,
  model,
  usage,
  errorMessage,
}: UnknownObject): RequestEntry {
  const { input, output, cacheRead, cacheWrite, cost } = asObject(usage);
  const error = asString(errorMessage);
  return {
    type: "request",
    messageId: asString(responseId) ?? textOrJson(timestamp),
    model: `${textOrJson(provider)}/${textOrJson(model)}`,
    inputTokens: asNumber(input) ?? 0,
    outputTokens: asNumber(output) ?? 0,
    reasoningTokens: 0,
    cacheReadTokens: asNumber(cacheRead) ?? 0,
    cacheWriteTokens: asNumber(cacheWrite) ?? 0,
    costUSD: asNumber(asObject(cost).total) ?? 0,
    ...(error !== undefined && { error }),
  };
}

type Running = (ctx: PiContext, callId: string) => Omit<RunningTool, "signal">;

function toolDefinition(name: string, tool: ModelTool, running: Running): UnknownObject {
  return {
    name,
    label: name,
    description: tool.description,
    parameters: inputSchema(tool.parameters),
    async execute(
      callId: string,
      args: unknown,
      signal: AbortSignal | undefined,
      _: unknown,
      ctx: PiContext,
    ) {
      const call = { ...running(ctx, callId), signal: signal ?? new AbortController().signal };
      return { content: [{ type: "text", text: await tool.execute(args, call) }], details: {} };
    },
  };
}

function runningTool({ api, host, ctx, callId }: CallPlace): ReturnType<Running> {
  const sessionId = ctx.sessionManager.getSessionId();
  const isCall = (block: unknown): boolean => asObject(block).id === callId;
  const entry = ctx.sessionManager
    .getBranch()
    .findLast(({ message }) => asArray(asObject(message).content).some(isCall));
  return {
    sessionId,
    callId,
    ...(entry && { messageId: entry.id }),
    agent: host.agent.name,
    ...(ctx.model && { model: modelFacts(ctx.model, api.getSettings()) }),
    // pi has no rules about agents: a child is offered the tools that its parent is.
    async mayStart() {
      host.childProcesses.setRights(sessionId, rightsOf(api, ctx));
      return { status: "allowed" };
    },
    setTitle: () => {},
  };
}

interface CallPlace extends Pick<Parts, "api" | "host"> {
  readonly ctx: PiContext;
  readonly callId: string;
}

function addCommands(api: PiApi, { host, plugin, setOpen }: CommandParts): void {
  const { env } = process;
  const report = async (ctx: PiContext, what: string): Promise<string> =>
    reportOf(host.agent, {
      ...{ what, env, directory: host.directory },
      sessionId: ctx.sessionManager.getSessionId(),
    });
  const forks = async ({ sessionManager }: PiContext): Promise<string> => {
    const recorded = await readForks(pluginFolders({ store: undefined, env }));
    const question = { rootSessionId: sessionManager.getSessionId(), nowMs: Date.now() };
    const nothing = () => undefined;
    const lines = forkLines(recorded, { ...question, stepOf: nothing, askOf: nothing });
    const rows = lines.map(
      (line) => `${line.title}  ${listLine(line)}${line.step ? `\n    ${line.step}` : ""}`,
    );
    return rows.length > 0 ? rows.join("\n") : "This session has no forks.";
  };
  const shown = {
    context: {
      description: "What fills the window, and what left it",
      text: (ctx: PiContext) => report(ctx, "context"),
    },
    forks: { description: "The forks of this session", text: forks },
  };
  for (const [name, { description, text }] of Object.entries(shown))
    api.registerCommand(name, {
      description,
      async handler(_, ctx) {
        setOpen(ctx);
        ctx.ui.notify(await text(ctx).catch(String), "info");
      },
    });
  for (const [name, { description, template }] of Object.entries(plugin.commands))
    api.registerCommand(name, {
      description,
      async handler(args, ctx) {
        setOpen(ctx);
        api.sendUserMessage(
          template.replace("$ARGUMENTS", () => args),
          { deliverAs: "followUp" },
        );
      },
    });
}

interface CommandParts extends Pick<Parts, "host" | "plugin"> {
  readonly setOpen: (ctx: PiContext) => void;
}
