import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { guardedHook, refusalOf } from "../../agents/guarded-hook.ts";
import { attendanceOf } from "../../agents/opencode/attendance.ts";
import { readModel } from "../../agents/opencode/read-facts.ts";
import { readHostFile } from "../../agents/tool-output-file.ts";
import { withoutShown } from "../../formats/wires/opencode/decode-messages.ts";
import type {
  AgentHost,
  AgentPlugin,
  FinishedTool,
  ModelTool,
  RunningTool,
  ToolCall,
  ToolOutputChange,
  WholeOutput,
} from "../../plugin/host/agent-host.ts";
import { createPlugin } from "../../plugin/plugin.ts";
import { configHome } from "../../plugin/stores/folders.ts";
import { inputSchema } from "../../plugin/tools/define-tool.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import { askToStart, listAgents } from "./ask-to-start.ts";
import { createChildSessions } from "./child-sessions.ts";
import {
  type DecidingHooks,
  guardedHooks,
  type Hooks,
  type HostEvent,
  type PluginInput,
  type ToolContext,
  type ToolDefinition,
  type ToolDoneInput,
  type ToolOutput,
} from "./hooks.ts";
import { createHostCalls, type HostCalls } from "./host-calls.ts";
import { createMessageId } from "./message-id.ts";
import { carryoverNote, messageFormat, OWN_METADATA, outgoingRequest } from "./messages.ts";
import { createScreen } from "./screen.ts";
import { createSessions } from "./sessions.ts";
import { readSignal } from "./signals.ts";
import { opencodeTools } from "./tools.ts";

/**
 * The plugin as OpenCode 1 loads it. `sessions.ts`, `hooks.ts` and `messages.ts` give OpenCode's sessions, events and messages in the
 * plugin's terms, `createHooks` turns its hooks into moments of the plugin; nothing is decided here.
 */
export async function createServer({ client, directory }: PluginInput, options?: unknown): Promise<Hooks> {
  const calls = createHostCalls({ client, directory });
  if (calls === undefined) return {};
  const { argv } = process;
  const env = hostEnvironment(process.env);
  const host = createOpencodeHost({ calls, directory, env, args: argv.slice(2) });
  const plugin = createPlugin(host, options, { env });
  return createHooks(plugin, {
    calls,
    onFailure: (hook, cause) =>
      host.log("error", `${hook} failed and changed nothing`, { cause: String(cause) }),
  });
}

/** The environment as the plugin reads it: OpenCode's own cap of the answer is ours where we have none. */
export function hostEnvironment(env: OpencodeHostSetup["env"]): OpencodeHostSetup["env"] {
  const { OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX: cap } = env;
  return cap === undefined ? env : { CARRYOVER_OUTPUT_TOKEN_MAX: cap, ...env };
}

/** OpenCode 1 as the plugin's host, over the routes of its server. */
export function createOpencodeHost({ calls, directory, env, args = [] }: OpencodeHostSetup): AgentHost {
  const attendance = attendanceOf(args);
  return {
    directory,
    project: directory,
    attendance,
    packageFolders: [directory, join(configHome(env), "opencode")],
    can: {
      carryResults: true,
      rejectAsks: true,
      deliversOnce: false,
      graftRequests: true,
      wakeParents: true,
    },
    format: messageFormat,
    sessions: { ...createSessions(calls), ...createChildSessions(calls) },
    tools: opencodeTools,
    screen: createScreen(calls, attendance),
    agents: (asking) => listAgents(calls, asking),
    log(level, message, extra) {
      // OpenCode 1 writes only the message and what is in `extra`, so our name must be there too.
      const named = { service: "carryover", ...extra };
      void calls.call("POST", "/log", { service: "carryover", level, message, extra: named });
    },
  };
}

interface OpencodeHostSetup {
  readonly calls: HostCalls;
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The arguments of the program: some commands are without a person. */
  readonly args?: readonly string[];
}

/**
 * The plugin as the hooks of OpenCode 1. A hook never throws into OpenCode, where that would be an error 500 for the user, and
 * never holds it up for long. What it has decided is done at once and only when it came in time.
 */
export function createHooks(plugin: AgentPlugin, { calls, onFailure }: HooksSetup): Hooks {
  let isReady = false;
  const onEvent = async ({ event }: { readonly event: HostEvent }): Promise<void> => {
    const signal = readSignal(event);
    const signalled = signal === undefined ? undefined : plugin.onSignal(signal);
    if (!isReady) {
      // OpenCode takes no calls while it loads its plugins; the first event says that it runs.
      isReady = true;
      await plugin.onSignal({ type: "ready" });
    }
    await signalled;
  };
  const hooks: DecidingHooks = {
    dispose: () => plugin.dispose(),
    async config(config) {
      config.command = { ...plugin.commands, ...config.command };
    },
    async "command.execute.before"({ command, arguments: given }, { parts }) {
      const { template } = plugin.commands[command] ?? {};
      if (template !== undefined) hideInstructions(parts, { template, typed: `/${command} ${given}`.trim() });
    },
    async "chat.message"({ sessionID }, { message, parts }) {
      const messageId = asString(message.id);
      const isOurs = parts.some((part) => asObject(part.metadata).carryover !== undefined);
      const texts = await plugin.onUserMessage({
        sessionId: sessionID,
        messageId,
        from: isOurs ? "plugin" : "user",
      });
      const added = texts.map((text) => {
        const id = createMessageId(Date.now()).replace("msg_", "prt_");
        const place = { id, sessionID, messageID: messageId };
        return { ...place, type: "text", text, synthetic: true, metadata: OWN_METADATA };
      });
      return () => parts.push(...added);
    },
    async "chat.params"({ sessionID, model }, { options }) {
      const facts = readModel(model);
      if (facts !== undefined) await plugin.onSignal({ type: "request", sessionId: sessionID, model: facts });
      const owner = await plugin.cacheOwnerOf(sessionID);
      return () => replaceSession(options, sessionID, owner);
    },
    async "chat.headers"({ sessionID, model }, { headers }) {
      const owner = await plugin.cacheOwnerOf(sessionID);
      if (owner === undefined) return undefined;
      return () => {
        replaceSession(headers, sessionID, owner);
        const isHostsOwn = model.providerID.startsWith("opencode");
        headers[isHostsOwn ? "x-opencode-session" : "x-session-affinity"] = owner;
      };
    },
    async "tool.execute.after"(input, output) {
      const changed = { ...output };
      await plugin.afterTool(finishedTool(input, changed), (change) => changeToolOutput(changed, change));
      return () => Object.assign(output, changed);
    },
    async "experimental.session.compacting"({ sessionID }, { context }) {
      const texts = await plugin.beforeCompaction({ sessionId: sessionID });
      return () => context.push(...texts);
    },
  };
  return {
    ...guardedHooks(hooks, onFailure),
    // OpenCode does not wait for it, so it may take its time.
    event: (input) => onEvent(input).catch((cause: unknown) => onFailure("event", cause)),
    "experimental.chat.messages.transform": editRequests(plugin, onFailure),
    async "tool.execute.before"(input, output) {
      const call = (): ToolCall => {
        const { sessionID: sessionId, callID: callId, tool } = input;
        return { sessionId, callId, tool, input: output.args };
      };
      const refusal = await refusalOf(call, plugin, (cause) => onFailure("tool.execute.before", cause));
      if (refusal !== undefined) throw new ToolRefusal(refusal);
    },
    tool: Object.fromEntries(
      Object.entries(plugin.tools).map(([name, tool]) => [name, toolDefinition(tool, calls)] as const),
    ),
  };
}

/**
 * The person sees what they typed, and an undo puts that back into the prompt; what our command says goes to the model as
 * text that no person wrote. A command of the same name that is the user's own stays as it is.
 */
function hideInstructions(parts: Record<string, unknown>[], { template, typed }: TypedCommand): void {
  const [start = ""] = template.split("$ARGUMENTS");
  const index = parts.findIndex(
    ({ type, text }) => type === "text" && asString(text)?.startsWith(start.trim()),
  );
  const part = parts[index];
  if (part === undefined) return;
  parts.splice(index, 1, { type: "text", text: typed }, { ...part, synthetic: true });
}

interface TypedCommand {
  readonly template: string;
  readonly typed: string;
}

interface HooksSetup {
  readonly calls: HostCalls;
  readonly onFailure: (hook: string, cause: unknown) => void;
}

/** Thrown on purpose: OpenCode shows its message to the model as the call's error. */
class ToolRefusal extends Error {
  readonly code = "tool-refused";
}

/** Edits the very list that is sent. When that fails or is late, the list is as it was, and what comes later edits another one. */
function editRequests(plugin: AgentPlugin, onFailure: HooksSetup["onFailure"]): EditMessages {
  return async (_, output) => {
    const messages = output?.messages ?? [];
    let shown = messages;
    const edit = guardedHook<[]>(
      {
        name: "experimental.chat.messages.transform",
        restore() {
          for (const [index, message] of withoutShown(messages).entries()) messages[index] = message;
          const before = [...messages];
          return () => {
            shown = [...messages];
            messages.splice(0, messages.length, ...before);
          };
        },
        async run() {
          const request = outgoingRequest(() => shown);
          if (request !== undefined) await plugin.beforeRequest(request);
        },
        forkOf: async () => plugin.isFork(outgoingRequest(() => messages)?.sessionId ?? ""),
      },
      onFailure,
    );
    await edit();
  };
}

type EditMessages = NonNullable<Hooks["experimental.chat.messages.transform"]>;

/** OpenCode names caches and routes after the session: the child of a full fork takes those of its parent. */
function replaceSession(record: Record<string, unknown>, sessionId: string, owner: string | undefined): void {
  if (owner === undefined) return;
  for (const [name, value] of Object.entries(record)) if (value === sessionId) record[name] = owner;
}

/** A tool output of OpenCode as the plugin sees it; tools of other servers give outputs that are no text. */
function finishedTool({ tool, sessionID, callID }: ToolDoneInput, output: ToolOutput): FinishedTool {
  return {
    sessionId: sessionID,
    callId: callID,
    tool,
    get text() {
      return typeof output.output === "string" ? output.output : undefined;
    },
    whole: () => wholeOutput(output),
  };
}

/** Writes a change into the output. Where fork results were added stands in the metadata, under the name `ride`. */
function changeToolOutput(output: ToolOutput, change: ToolOutputChange): void {
  const metadata = asObject(output.metadata);
  if (change.type === "append") {
    const ride = { offset: output.output.length, length: change.text.length };
    output.metadata = { ...metadata, carryover: { ...carryoverNote(metadata), ride } };
    output.output += change.text;
    return;
  }
  output.output = change.text;
  if (change.saved !== undefined) output.metadata = { ...metadata, truncated: true, carryover: change.saved };
}

/** What the tool really said, with what OpenCode says of it. Its file lies where OpenCode lets every agent read. */
async function wholeOutput({ output, metadata }: ToolOutput): Promise<WholeOutput> {
  const kept = await keptByHost(metadata);
  return kept === undefined ? { text: output } : { ...kept, text: kept.text + hostNote(output) };
}

/** OpenCode's words behind the output of a command, such as that its time was up: its file does not have them. */
function hostNote(output: string): string {
  const start = output.endsWith(NOTE_END) ? output.lastIndexOf(NOTE_START) : -1;
  return start === -1 ? "" : output.slice(start);
}

const NOTE_START = "\n\n<shell_metadata>\n";
const NOTE_END = "\n</shell_metadata>";

/** The whole of an output that OpenCode cut and kept in a file. */
async function keptByHost(metadata: unknown): Promise<Required<WholeOutput> | undefined> {
  const { truncated, outputPath } = asObject(metadata);
  const path = asString(outputPath);
  // The path came with the result of a tool: it must not make us read any other file for it.
  if (truncated !== true || path === undefined || basename(dirname(path)) !== HOST_FOLDER) return undefined;
  const text = await readHostFile(path);
  return text === undefined ? undefined : { text, path };
}

/** Where OpenCode keeps what it cut. */
const HOST_FOLDER = "tool-output";

function toolDefinition({ description, parameters, execute }: ModelTool, calls: HostCalls): ToolDefinition {
  return {
    description,
    // Plain JSON schema would make every parameter required.
    args: (z.fromJSONSchema(inputSchema(parameters)) as z.ZodObject).shape,
    async execute(args, context) {
      let rejection: unknown;
      const mayStart: RunningTool["mayStart"] = async (agent, title) => {
        const { rejection: said, ...answer } = await askToStart(calls, { agent, title, context });
        rejection = said;
        return answer;
      };
      const text = await execute(args, { ...runningTool(context), mayStart });
      // OpenCode ends the turn, as it does when a person rejects any other tool.
      if (rejection !== undefined) throw rejection;
      return text;
    },
  };
}

function runningTool(context: ToolContext): Omit<RunningTool, "mayStart"> {
  const model = readModel(context.extra?.model);
  return {
    sessionId: context.sessionID,
    callId: context.callID ?? context.messageID,
    messageId: context.messageID,
    agent: context.agent,
    signal: context.abort,
    ...(model && { model }),
    setTitle: (title) => context.metadata({ title }),
  };
}
