import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { CHILD_VARIABLE } from "../../agents/files/child-process.ts";
import { reportOf } from "../../agents/files/report.ts";
import { HOOK_MS, refusalOf } from "../../agents/guarded-hook.ts";
import { inTime } from "../../agents/in-time.ts";
import { createLogFile } from "../../agents/log-file.ts";
import { readOptionsFile } from "../../agents/options-file.ts";
import { contentText, wholeFromFile } from "../../agents/tool-output-file.ts";
import type { Summarizer } from "../../compaction/ports/summarizer.ts";
import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import { type BranchView, draftsFor, readBranch, withEdits } from "../../formats/files/pi/branch.ts";
import { OWN_TYPE, readPiUsage } from "../../formats/files/pi/read-pi-lines.ts";
import { requestHead } from "../../formats/files/pi/request-head.ts";
import type { AgentPlugin, FinishedTool, RunningTool, WholeOutput } from "../../plugin/host/agent-host.ts";
import type { RequestEntry } from "../../plugin/host/host-parts.ts";
import { createPlugin } from "../../plugin/plugin.ts";
import { LOG_FILE, pluginFolders } from "../../plugin/stores/folders.ts";
import { inputSchema } from "../../plugin/tools/define-tool.ts";
import { textOrJson } from "../../text/json.ts";
import {
  asArray,
  asNumber,
  asObject,
  asString,
  omitUndefined,
  type UnknownObject,
} from "../../text/unknown-value.ts";
import type { Usage } from "../../transcript/message.ts";
import { rightsOf } from "./pi-agent.ts";
import type { PiApi, PiContext, PiEvents, PiHandler } from "./pi-api.ts";
import { createPiHost, modelFacts, type PiHost } from "./pi-host.ts";

/**
 * The plugin as an extension of pi. What is edited in a request is appended to the session as `context_edit` entries when its
 * turn ends, so that it is sent the same way without us; a summary of ours is the session's own compaction. Whatever fails has
 * no effect.
 */
export async function extendPi(api: PiApi): Promise<void> {
  const { env } = process;
  const directory = process.cwd();
  const { root } = pluginFolders({ store: undefined, env });
  const log = createLogFile(join(root, LOG_FILE));
  let open: PiContext | undefined;
  const host = createPiHost({ api, env, directory, log, current: () => open });
  const isChild = Boolean(env[CHILD_VARIABLE]);
  const plugin = createPlugin(host, await readOptions(env), { env, ...(isChild && { scope: "child" }) });
  host.childProcesses.listen(plugin);
  const onFailure = (what: string, cause: unknown): void =>
    log("error", `${what} failed and changed nothing`, { cause: String(cause) });

  /** A handler that is late or fails has no effect. */
  const on: PiApi["on"] = (event, handler) =>
    api.on(event, (given, ctx) => {
      open = ctx;
      const limitMs = event === "session_before_compact" ? COMPACTION_MS : HOOK_MS;
      return inTime(handler(given, ctx), limitMs).catch((cause: unknown) => onFailure(event, cause));
    });
  addHandlers(on, { api, host, plugin, onFailure });
  const running = createRunningTool(api, host);
  for (const [name, { description, parameters, execute }] of Object.entries(plugin.tools))
    api.registerTool({
      ...{ name, label: name, description, parameters: inputSchema(parameters) },
      async execute(callId, args, signal = new AbortController().signal, _, ctx) {
        const text = await execute(args, { ...running(ctx, callId), signal });
        return { content: [{ type: "text", text }], details: {} };
      },
    });
  if (isChild) return;
  const command = (name: string, description: string, run: PiHandler<string>) =>
    api.registerCommand(name, {
      description,
      handler(args, ctx) {
        open = ctx;
        return run(args, ctx);
      },
    });
  for (const [what, description] of Object.entries(REPORTS))
    command(what, description, async (_, { ui, sessionManager }) => {
      const question = { what, env, directory, sessionId: sessionManager.getSessionId() };
      ui.notify(await reportOf(host.agent, question).catch(String), "info");
    });
  for (const [name, { description, template }] of Object.entries(plugin.commands))
    command(name, description, async (args) => {
      const text = template.replace("$ARGUMENTS", () => args);
      api.sendUserMessage(text, { deliverAs: "followUp" });
    });
}

/** A model may write for minutes. */
const COMPACTION_MS = 5 * 60_000;

/** The commands that tell a person something. */
const REPORTS = { context: "What fills the window, and what left it", forks: "The forks of this session" };

/**
 * pi's own summary takes no words of ours, so that unless the user chose otherwise its model is asked by us: for a summary
 * beside which facts and pins stand.
 */
async function readOptions(env: NodeJS.ProcessEnv): Promise<unknown> {
  const given = (await readOptionsFile(env)) ?? {};
  return typeof given === "object" ? { compaction: "model", ...given } : given;
}

interface Parts {
  readonly api: PiApi;
  readonly host: PiHost;
  readonly plugin: AgentPlugin;
  readonly onFailure: (what: string, cause: unknown) => void;
}

function addHandlers(on: PiApi["on"], { api, host, plugin, onFailure }: Parts): void {
  const idOf = (ctx: PiContext): string => ctx.sessionManager.getSessionId();
  /** After a refusal the model is asked once more in the same run. */
  let isAskedAgain = false;

  /** The window as the plugin wants it sent; with the messages that pi is about to send, where it is. */
  async function editWindow(ctx: PiContext, outgoing?: readonly UnknownObject[]): Promise<EditedBranch> {
    const view = readBranch(ctx.sessionManager.getBranch());
    const edited: object[] = [...view.window];
    const { model } = ctx;
    if (model === undefined) return { ...view, edited };
    const sessionId = idOf(ctx);
    const facts = modelFacts(model, api.getSettings());
    await plugin.onSignal({ type: "request", sessionId, model: facts });
    const answer = view.window.findLast(({ message }) => asObject(message).role === "assistant");
    const lastAnswerAtMs = asNumber(asObject(answer?.message).timestamp) ?? Date.now();
    const { provider, id } = facts;
    await plugin.beforeRequest({
      ...{ sessionId, messages: edited, model: { provider, id }, lastAnswerAtMs },
      ...(outgoing && { head: requestHead(outgoing, model.compat) }),
    });
    return { ...view, edited };
  }

  on("session_start", async () => {
    const [own, active] = [Object.keys(plugin.tools), api.getActiveTools()];
    // In a session that went on without us once, pi leaves all of them out for good.
    if (!own.some((name) => active.includes(name))) api.setActiveTools([...active, ...own]);
    await plugin.onSignal({ type: "ready" });
    await host.screen.draw();
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
    await host.screen.draw();
  });
  on("before_agent_start", async ({ message }, ctx) => {
    const from = message?.customType === OWN_TYPE ? "plugin" : "user";
    const texts = await plugin.onUserMessage({ sessionId: idOf(ctx), messageId: randomUUID(), from });
    if (texts.length === 0) return undefined;
    return { message: { customType: OWN_TYPE, content: texts.join("\n\n"), display: true } };
  });
  on("context_with_system", async ({ messages }, ctx) => {
    const shown = withEdits(messages, await editWindow(ctx, messages));
    return shown === messages ? undefined : { messages: shown };
  });
  on("message_end", async ({ message }, ctx) => {
    if (message.role === "assistant" && message.stopReason !== "error") isAskedAgain = false;
    const usage = readPiUsage(message.usage);
    if (message.role !== "assistant" || usage === undefined) return undefined;
    const { stopReason, errorMessage } = message;
    if (stopReason === "error") {
      const error = { kind: "other", message: textOrJson(errorMessage) };
      await plugin.onSignal({ type: "failed", sessionId: idOf(ctx), error });
    }
    const isFinished = message.stopReason !== "toolUse";
    const request = requestEntry(message, usage);
    return plugin.onSignal({ type: "answer", sessionId: idOf(ctx), isFinished, request });
  });
  on("turn_end", async ({ entries: proposed }, ctx) => {
    const { edited, ...view } = await editWindow(ctx);
    const drafts = draftsFor(view, edited);
    return drafts.length > 0 ? { entries: [...proposed, ...drafts] } : undefined;
  });
  on("agent_before_settle", async ({ entries: proposed }, ctx) => {
    const answer = ctx.sessionManager.getBranch().findLast(({ type }) => type === "message");
    const { stopReason, errorMessage } = asObject(answer?.message);
    if (stopReason !== "error" || isAskedAgain) return undefined;
    if (classifyProviderError(textOrJson(errorMessage)).recovery !== "leave-out-thoughts") return undefined;
    isAskedAgain = true;
    const withoutAnswer = { type: "context_edit", targetId: answer?.id, replacement: null };
    return { entries: [...proposed, withoutAnswer], continue: true };
  });
  on("tool_call", async ({ toolName: tool, toolCallId: callId, input }, ctx) => {
    const call = { sessionId: idOf(ctx), callId, tool, input };
    const reason = await refusalOf(
      () => call,
      plugin,
      (cause) => onFailure("tool_call", cause),
    );
    return reason === undefined ? undefined : { block: true, reason };
  });
  on("tool_result", async (event, ctx) => {
    if (event.parentToolCallId !== undefined) return undefined;
    const { toolName: tool, toolCallId: callId, details, structuredContent } = event;
    let content: unknown = event.content;
    const finished: FinishedTool = {
      ...{ sessionId: idOf(ctx), callId, tool },
      get text() {
        return contentText(content);
      },
      whole: () => wholeOutput(details, contentText(content) ?? ""),
    };
    await plugin.afterTool(finished, ({ type, text }) => {
      content = [{ type: "text", text: type === "append" ? `${finished.text ?? ""}${text}` : text }];
    });
    return content === event.content ? undefined : { content, structuredContent };
  });
  on("session_before_compact", async (event, ctx) => {
    let usage: unknown;
    const compacted = await plugin.compact({
      sessionId: idOf(ctx),
      ...(ctx.model && { model: { provider: ctx.model.provider, id: ctx.model.id } }),
      messages: async () => readBranch(ctx.sessionManager.getBranch()).window,
      summarizer: createSummarizer(ctx, { ...event, onUsage: (used) => (usage = used) }),
    });
    if (compacted === undefined) return void (await plugin.beforeCompaction({ sessionId: idOf(ctx) }));
    const { summary, firstKeptId: firstKeptEntryId = null } = compacted;
    const { tokensBefore } = event.preparation;
    return { compaction: omitUndefined({ summary, firstKeptEntryId, tokensBefore, usage }) };
  });
  on("session_compact", async (_, ctx) => plugin.onSignal({ type: "compacted", sessionId: idOf(ctx) }));
}

/** Asks the model of the session, as pi does for a summary of its own; its cost is pi's to count. */
function createSummarizer(
  ctx: PiContext,
  { customInstructions: asked, signal, onUsage }: AskedSummary,
): Summarizer {
  return {
    async summarize({ system: systemPrompt, prompt, maxOutputTokens }, options) {
      if (ctx.model === undefined) throw new Error("no model is chosen");
      const text = asked ? `${prompt}\n\nThe user asks of the summary: ${asked}` : prompt;
      const messages = [{ role: "user", content: [{ type: "text", text }], timestamp: Date.now() }];
      const maxTokens = Math.min(maxOutputTokens, ctx.model.maxTokens);
      const both = { signal: AbortSignal.any([signal, options.signal]), cacheRetention: "none", maxTokens };
      const answer = await ctx.modelRegistry.complete(ctx.model, { systemPrompt, messages }, both);
      const { usage, stopReason, errorMessage, content } = asObject(answer);
      onUsage(usage);
      if (stopReason === "error") throw new Error(asString(errorMessage) ?? "no summary came");
      return asArray(content)
        .map((block) => asString(asObject(block).text) ?? "")
        .join("");
    },
  };
}

type AskedSummary = PiEvents["session_before_compact"] & { readonly onUsage: (usage: unknown) => void };

/** A branch, and its window as the plugin wants it sent. */
interface EditedBranch extends BranchView {
  readonly edited: readonly object[];
}

function requestEntry(answer: UnknownObject, { totalTokens: _, ...used }: Usage): RequestEntry {
  const error = asString(answer.errorMessage);
  return {
    type: "request",
    messageId: asString(answer.responseId) ?? textOrJson(answer.timestamp),
    model: `${textOrJson(answer.provider)}/${textOrJson(answer.model)}`,
    ...used,
    costUSD: asNumber(asObject(asObject(answer.usage).cost).total) ?? 0,
    ...(error !== undefined && { error }),
  };
}

/** Commands keep the end of a long output, and all of it in a file. What pi says of them behind it stays. */
async function wholeOutput(details: unknown, shown: string): Promise<WholeOutput> {
  const { fullOutputPath, truncation } = asObject(details);
  const path = asString(fullOutputPath);
  if (path === undefined || asObject(truncation).truncated !== true) return { text: shown };
  const notice = `Full output: ${path}]`;
  const at = shown.lastIndexOf(notice);
  return wholeFromFile(path, shown, at === -1 ? shown.length : at + notice.length);
}

/** What a running tool is told. pi has no rules about agents: a child is offered the tools that its parent is. */
function createRunningTool(api: PiApi, { agent, childProcesses }: PiHost) {
  return (ctx: PiContext, callId: string): Omit<RunningTool, "signal"> => {
    const sessionId = ctx.sessionManager.getSessionId();
    const branch = ctx.sessionManager.getBranch();
    const isCall = (block: unknown): boolean => asObject(block).id === callId;
    const entry = branch.findLast(({ message }) => asArray(asObject(message).content).some(isCall));
    return {
      ...{ sessionId, callId, agent: agent.name },
      ...(entry && { messageId: entry.id }),
      ...(ctx.model && { model: modelFacts(ctx.model, api.getSettings()) }),
      async mayStart() {
        childProcesses.setRights(sessionId, rightsOf(api, ctx));
        return { status: "allowed" };
      },
      setTitle: () => {},
    };
  };
}
