import { join } from "node:path";
import { createChildNotes } from "../../agents/child-notes.ts";
import { guardedHook, refusalOf } from "../../agents/guarded-hook.ts";
import { createLogFile } from "../../agents/log-file.ts";
import { attendanceOf, programArguments } from "../../agents/opencode/attendance.ts";
import type { AgentHost, AgentPlugin, RunningTool, ToolCall } from "../../plugin/host/agent-host.ts";
import { createPlugin } from "../../plugin/plugin.ts";
import { configHome, LOG_FILE, pluginFolders } from "../../plugin/stores/folders.ts";
import { isDatabase } from "../../plugin/stores/plugin-stores.ts";
import { textOrJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { addCommand, asSetupContext, directoryOf, type SetupContext } from "./abilities.ts";
import { createAnswerFacts } from "./answer-facts.ts";
import { type HeadersEvent, type HttpEvent, useCacheKeyOfOwner, useHeadersOfOwner } from "./cache-owner.ts";
import { createChildSessions } from "./child-sessions.ts";
import { answerCompactions, COMPACTION_MS } from "./compaction.ts";
import { createMessageFormat } from "./messages.ts";
import { createModelList } from "./model-list.ts";
import { createNotices } from "./notices.ts";
import { type ContextEvent, outgoingRequest, restoreContext } from "./requests.ts";
import { createSessionReader, ReadOnly } from "./session-reader.ts";
import { createSessions } from "./sessions.ts";
import { followEvents } from "./signals.ts";
import {
  changeToolResult,
  createRefusals,
  finishedTool,
  opencode2Tools,
  type ToolEndEvent,
  type ToolStartEvent,
  toolDefinition,
} from "./tools.ts";

/**
 * The plugin as OpenCode 2 loads it, once for each folder. `sessions.ts`, `signals.ts`, `messages.ts`, `requests.ts` and
 * `tools.ts` give the host in the plugin's terms; nothing is decided here. Nothing here takes long: every session of the
 * folder waits for it. Gives what ends the plugin, or undefined in OpenCode 1, which calls this too.
 */
export async function setUp(given: unknown): Promise<(() => Promise<void>) | undefined> {
  const context = asSetupContext(given);
  if (context === undefined) return undefined;
  const directory = await directoryOf(context);
  const parts = createParts(context, directory);
  const { host, log } = parts;
  const plugin = createPlugin(host, context.options ?? {}, { env: process.env });
  const onFailure = (what: string, cause: unknown): void =>
    log("error", `${what} failed and changed nothing`, { cause: String(cause) });
  await addHooks(context, { ...parts, plugin, onFailure });
  await addTools(context, { ...parts, plugin });
  for (const [name, command] of Object.entries(plugin.commands))
    await addCommand(context, { name, ...command }).catch((cause: unknown) => onFailure(`/${name}`, cause));
  const events = followEvents(context.event.subscribe(), { ...parts, plugin, onFailure });
  return async () => {
    events.stop();
    await plugin.dispose();
  };
}

/** OpenCode 2 as the plugin's host, and what its hooks and events need beside. */
function createParts(context: SetupContext, directory: string) {
  const { env } = process;
  const store = asString(asObject(context.options).store);
  const folders = pluginFolders({ store: store !== undefined && isDatabase(store) ? undefined : store, env });
  const log = createLogFile(join(folders.root, LOG_FILE));
  const notices = createNotices({ root: folders.root });
  const answers = createAnswerFacts();
  const reader = createSessionReader(context);
  const notes = createChildNotes({ agent: "opencode2", forks: folders.forks, directory });
  const sessions = createSessions({ context, notes, reader });
  const { mayStart, agents, ...children } = createChildSessions({ context, notes, directory });
  const host: AgentHost = {
    directory,
    // Its sessions are not those of OpenCode 1 in the same folder.
    project: `opencode2 ${directory}`,
    attendance: attendanceOf(programArguments(process)),
    packageFolders: [directory, join(configHome(env), "opencode")],
    can: {
      carryResults: false,
      rejectAsks: true,
      deliversOnce: true,
      graftRequests: true,
      wakeParents: true,
    },
    format: createMessageFormat(answers),
    sessions: { ...sessions, ...children },
    tools: opencode2Tools,
    // Only the half in the terminal reaches the screen, and reads there what became of forks.
    screen: {
      reach: "toasts",
      toast(text, tone) {
        log("info", text);
        notices.leave(directory, { text, tone });
      },
      show: async () => "not-shown",
      open: async () => "not-opened",
    },
    agents,
    log,
  };
  return {
    host,
    log,
    directory,
    answers,
    reader,
    notes,
    sessions,
    mayStart,
    models: createModelList(context),
    lastModels: createLruMap<string, unknown>(MAX_SESSIONS),
  };
}

const MAX_SESSIONS = 1_024;

type Parts = ReturnType<typeof createParts>;

interface HooksSetup extends Parts {
  readonly plugin: AgentPlugin;
  readonly onFailure: (what: string, cause: unknown) => void;
}

async function addHooks({ session, tool }: SetupContext, setup: HooksSetup): Promise<void> {
  const { plugin, answers, reader, sessions, models, lastModels, onFailure } = setup;
  const edit = guardedHook<[ContextEvent]>(
    {
      name: "context",
      restore: restoreContext,
      forkOf: ({ sessionID }) => plugin.isFork(sessionID),
      async run(event) {
        const { sessionID: sessionId, model } = event;
        lastModels.set(sessionId, model);
        sessions.setTools(sessionId, Object.keys(event.tools));
        await plugin.onSignal({ type: "request", sessionId, model: await models.of(model) });
        await plugin.beforeRequest(outgoingRequest(event, answers));
      },
    },
    onFailure,
  );
  await session.hook("context", async (event: ContextEvent) => {
    if (reader.takes(event)) throw new ReadOnly();
    await edit(event);
  });
  const answer = answerCompactions({ plugin, reader });
  const ofCompaction = { name: "compaction", limitMs: COMPACTION_MS, run: answer } as const;
  await session.hook("http.request", guardedHook(ofCompaction, onFailure));
  // GA: `generate`, by which sessions are read, has a hook of its own.
  await session.hook("generate", async (event: ContextEvent) => {
    if (reader.takes(event)) throw new ReadOnly();
  });
  await session.hook("http.request", async ({ request }: HttpEvent) => {
    if (await reader.leaks(request).catch(() => false)) throw new ReadOnly();
  });
  const useHeaders = (event: HeadersEvent) => useHeadersOfOwner(event, plugin);
  await session.hook("model.request", guardedHook({ name: "model.request", run: useHeaders }, onFailure));
  const useKey = (event: HttpEvent) => useCacheKeyOfOwner(event, plugin);
  await session.hook("http.request", guardedHook({ name: "http.request", run: useKey }, onFailure));
  const refusals = createRefusals();
  await tool.hook("execute.before", async (event: ToolStartEvent) => {
    const call = (): ToolCall => {
      const { sessionID: sessionId, id: callId, tool: name, input } = event;
      return { sessionId, callId, tool: name, input };
    };
    const reason = await refusalOf(call, plugin, (cause) => onFailure("execute.before", cause));
    if (reason !== undefined) throw refusals.of(event, reason);
  });
  await tool.hook(
    "execute.after",
    guardedHook<[ToolEndEvent]>(
      {
        name: "execute.after",
        async run(event) {
          const changed = { ...event };
          const finished = finishedTool(changed);
          if (finished === undefined) return undefined;
          await plugin.afterTool(finished, (change) => changeToolResult(changed, change));
          return () => Object.assign(event, { result: changed.result });
        },
      },
      onFailure,
    ),
  );
}

async function addTools(
  { tool }: SetupContext,
  { plugin, models, lastModels, mayStart }: Pick<HooksSetup, "plugin" | "models" | "lastModels" | "mayStart">,
): Promise<void> {
  const running = async (call: Readonly<Record<string, unknown>>): Promise<RunningTool> => {
    const { sessionID, id, messageID, agent: named, signal, progress } = call;
    const sessionId = textOrJson(sessionID);
    const caller = textOrJson(named);
    return {
      sessionId,
      callId: textOrJson(id),
      messageId: textOrJson(messageID),
      agent: caller,
      // GA gives a signal; in the snapshot a tool is not told that its result is no longer wanted.
      signal: signal instanceof AbortSignal ? signal : new AbortController().signal,
      model: await models.of(lastModels.get(sessionId)),
      mayStart: (agent) => mayStart(caller, agent),
      setTitle: (title) => {
        if (typeof progress === "function") void Promise.resolve(progress({ title })).catch(() => {});
      },
    };
  };
  await tool.transform((draft) => {
    for (const [name, each] of Object.entries(plugin.tools)) draft.add(toolDefinition(name, each, running));
  });
}
