import type {
  AgentHost,
  AgentPlugin,
  HostMessage,
  HostPrompt,
  HostValue,
  MessageNote,
  SessionFacts,
  SessionStatus,
  ToolOutputChange,
  TurnSettings,
} from "../../src/plugin/host/agent-host.ts";
import type { ShownPiece } from "../../src/plugin/host/host-parts.ts";
import { createPlugin } from "../../src/plugin/plugin.ts";
import type { ScriptedReply } from "../../src/testing.ts";
import { applyEdits } from "../../src/transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript, withText } from "../../src/transcript/message.ts";
import type { ToolPart } from "../../src/transcript/part.ts";
import type { StagedAgent } from "./agent-host-contract.ts";

/** A coding agent in memory; its messages have a shape of their own. */
export interface FakeAgent extends StagedAgent {
  readonly host: AgentHost;
  newSession(): string;
  stored(sessionId: string): Transcript;
  childrenOf(sessionId: string): readonly string[];
  readonly childReplies: ScriptedReply[];
  /** A compaction whose summary the plugin gives; the agent forgets what was before. Undefined where the plugin gives none. */
  takeSummary(sessionId: string): Promise<string | undefined>;
  /** What people see in the conversations beside the messages. */
  shown(): readonly ShownPiece[];
}

interface FakeMessage {
  readonly message: Message;
  readonly note?: HostPrompt["note"];
  readonly handle?: string | undefined;
  readonly turn?: TurnSettings;
  /** Where results were added to the output of its tool. */
  readonly added?: { readonly offset: number; readonly length: number };
  /** The summary that the message is. */
  readonly checkpoint?: string;
}

interface FakeSession {
  facts: SessionFacts;
  readonly messages: FakeMessage[];
  readonly requests: Transcript[];
  status: SessionStatus;
}

const MODEL = { provider: "p", id: "m", contextTokens: 200_000, outputTokens: 8_000 };
const TURN: TurnSettings = { agent: "build", model: { providerId: "p", modelId: "m" } };

/** Runs the plugin with the options. */
export function createFakeAgent({ directory, options, tools = {}, results }: FakeAgentSetup): FakeAgent {
  const sessions = new Map<string, FakeSession>();
  const toasts: string[] = [];
  const shown = new Map<string, ShownPiece>();
  const childReplies: ScriptedReply[] = [];
  const stopped: string[] = [];
  let nextId = 0;
  const newId = (kind: string): string => `${kind}_${String(++nextId).padStart(4, "0")}`;
  const add = (facts: Omit<SessionFacts, "costUSD" | "tokens" | "agent">): string => {
    const whole = { ...facts, agent: "build", costUSD: 0, tokens: 0, updatedAtMs: Date.now() };
    sessions.set(facts.id, { facts: whole, messages: [], requests: [], status: "idle" });
    return facts.id;
  };
  const within = <Value>(
    sessionId: string,
    read: (session: FakeSession) => Value,
  ): Promise<HostValue<Value>> => {
    const session = sessions.get(sessionId);
    return Promise.resolve(
      session === undefined
        ? { status: "failed", code: "missing", reason: "no such session" }
        : { status: "ok", value: read(session) },
    );
  };
  const host: AgentHost = {
    directory,
    project: `fake ${directory}`,
    attendance: "attended",
    packageFolders: [],
    can: {
      carryResults: results === "carried",
      rejectAsks: false,
      deliversOnce: results === "inbox",
      graftRequests: true,
      wakeParents: true,
    },
    format,
    tools: {
      forbiddenToForks: new Map([["delegate", "subagent"]]),
      writtenFiles: (tool, input) => (tool === "save" ? [String((input as { path: string }).path)] : []),
    },
    agents: async () => ({ status: "ok", value: [{ name: "build", isHidden: false, isPrimary: true }] }),
    screen: {
      toast: (message) => void toasts.push(message),
      show: async (piece) => {
        shown.set(`${piece.sessionId} ${piece.key}`, piece);
        return "shown";
      },
      open: async () => "not-opened",
    },
    log: () => {},
    sessions: {
      get: (id) => within(id, ({ facts }) => facts),
      list: async () => ({ status: "ok", value: [...sessions.values()].map(({ facts }) => facts) }),
      children: async (id) => ({ status: "ok", value: factsBelow(id) }),
      read: (id) => within(id, parted),
      status: async (id) => sessions.get(id)?.status,
      createChild: async ({ rootSessionId, title, note }) => ({
        status: "ok",
        value: add({ id: newId("child"), parentId: rootSessionId, title, note }),
      }),
      isForbidden: ({ sessionId }) => within(sessionId, () => false),
      limitChild: ({ childSessionId }) => within(childSessionId, () => undefined),
      hasTool: async () => true,
      setNote: (id) => within(id, () => undefined),
      newMessageId: (from) => (from === undefined ? newId("message") : `message ${from.key} ${from.atMs}`),
      prompt: async ({ sessionId, messageId, text, from, note, turn, reply }) => {
        if (sessions.get(sessionId)?.facts.revertedFrom !== undefined)
          return { status: "failed", code: "reverted", reason: "messages were taken back" };
        return within(sessionId, (session) => {
          const settings = turn === "last-user-turn" ? TURN : turn;
          if (session.messages.some(({ message }) => message.id === messageId)) return;
          const sent = from === "user" ? userMessage(messageId, text) : programMessage(messageId, text);
          session.messages.push({ ...sent, note, turn: settings });
          const replies = session.facts.parentId === undefined ? [{ say: "Noted." }] : childReplies;
          if (reply === "wanted" && session.status === "idle") void answer(sessionId, replies);
        });
      },
      async stop(id) {
        stopped.push(id);
        return within(id, () => undefined);
      },
      rejectAsk: async () => ({ status: "failed", code: "refused", reason: "it cannot" }),
    },
  };
  const plugin: AgentPlugin = createPlugin(host, { log: "off", ...options }, { env: {} });

  function factsBelow(id: string): readonly SessionFacts[] {
    return [...sessions.values()].map(({ facts }) => facts).filter(({ parentId }) => parentId === id);
  }

  /** One turn of the model: requests and tool calls until it has said something. */
  async function answer(
    sessionId: string,
    replies: readonly ScriptedReply[] | ScriptedReply[],
  ): Promise<void> {
    const session = sessions.get(sessionId);
    if (session === undefined) return;
    session.status = "busy";
    await plugin.onSignal({ type: "busy", sessionId });
    const left = replies === childReplies ? childReplies : [...replies];
    for (let reply = left.shift(); reply !== undefined; reply = left.shift()) {
      const sent: HostMessage[] = [...session.messages];
      const lastAnswerAtMs = Date.now();
      await plugin.beforeRequest({ sessionId, messages: sent, model: MODEL, lastAnswerAtMs });
      session.requests.push(format.decode(sent));
      await plugin.onSignal({ type: "request", sessionId, model: MODEL });
      if ("say" in reply) {
        const parts = [{ type: "text" as const, text: reply.say }];
        session.messages.push({
          message: { id: newId("message"), role: "assistant", parts, finish: "stop" },
        });
        break;
      }
      await runTool(session, reply);
    }
    session.status = "idle";
    await plugin.onSignal({ type: "idle", sessionId });
  }

  async function runTool(
    { facts: { id: sessionId }, messages }: FakeSession,
    reply: Extract<ScriptedReply, { readonly call: string }>,
  ): Promise<void> {
    const { call: tool, args } = reply;
    const callId = newId("call");
    const messageId = newId("message");
    const stored = (outcome: ToolPart["outcome"]): Message => ({
      id: messageId,
      role: "assistant",
      parts: [{ type: "tool", callId, tool, input: args, outcome }],
      finish: "tool-calls",
    });
    const place = messages.push({ message: stored({ status: "pending" }) }) - 1;
    const running = {
      sessionId,
      callId,
      messageId,
      agent: "build",
      signal: new AbortController().signal,
      model: MODEL,
    };
    const refusal = await plugin.beforeTool({ sessionId, callId, tool, input: args });
    const execute = async (): Promise<string> =>
      (await plugin.tools[tool]?.execute(args, {
        ...running,
        setTitle: () => {},
        mayStart: async () => ({ status: "allowed" }),
      })) ??
      (await tools[tool]?.(args)) ??
      "no such tool";
    let text = refusal ?? (await execute());
    const whole = text;
    let noted: Pick<FakeMessage, "handle" | "added"> = {};
    const change = (made: ToolOutputChange): void => {
      if (made.type === "append")
        noted = { ...noted, added: { offset: text.length, length: made.text.length } };
      else if (made.saved) noted = { ...noted, handle: made.saved.handle };
      text = made.type === "append" ? text + made.text : made.text;
    };
    const finished = {
      sessionId,
      callId,
      tool,
      get text() {
        return text;
      },
      whole: async () => ({ text: whole }),
    };
    if (refusal === undefined) await plugin.afterTool(finished, change);
    messages[place] = { message: stored({ status: "done", output: text, attachments: [] }), ...noted };
  }

  async function setRevert(session: FakeSession, revertedFrom: string | undefined): Promise<void> {
    const { revertedFrom: _, ...facts } = session.facts;
    session.facts = revertedFrom === undefined ? facts : { ...facts, revertedFrom };
    await plugin.onSignal({ type: "updated", session: session.facts });
  }

  let isReady = false;
  return {
    host,
    newSession: () => add({ id: newId("session"), title: "" }),
    async turn(sessionId, text, replies) {
      if (!isReady) await plugin.onSignal({ type: "ready" });
      isReady = true;
      const messageId = newId("message");
      const session = sessions.get(sessionId);
      if (session?.facts.revertedFrom !== undefined) {
        session.messages.splice(0, session.messages.length, ...parted(session).messages);
        await setRevert(session, undefined);
      }
      const texts = await plugin.onUserMessage({ sessionId, messageId, from: "user" });
      const { message } = userMessage(messageId, text);
      const parts = texts.map((each) => ({
        type: "text" as const,
        text: each,
        synthetic: true as const,
        own: true as const,
      }));
      sessions.get(sessionId)?.messages.push({
        message: { ...message, parts: [...message.parts, ...parts] },
        turn: TURN,
      });
      await answer(sessionId, replies);
    },
    childReplies,
    requests: (sessionId) => sessions.get(sessionId)?.requests ?? [],
    stored: (sessionId) => format.decode(sessions.get(sessionId)?.messages ?? []),
    async undo(sessionId) {
      const session = sessions.get(sessionId);
      const standing = session === undefined ? [] : parted(session).messages;
      const last = asFake(standing).findLast(({ message }) => message.role === "user");
      if (session !== undefined && last !== undefined) await setRevert(session, last.message.id);
    },
    async redo(sessionId) {
      const session = sessions.get(sessionId);
      if (session !== undefined) await setRevert(session, undefined);
    },
    async remove(sessionId) {
      for (const { id } of [...factsBelow(sessionId), { id: sessionId }]) {
        sessions.delete(id);
        await plugin.onSignal({ type: "deleted", sessionId: id });
      }
    },
    stopped,
    childrenOf: (sessionId) => factsBelow(sessionId).map(({ id }) => id),
    compact: (sessionId) => plugin.beforeCompaction({ sessionId }),
    async takeSummary(sessionId) {
      const { messages = [] } = sessions.get(sessionId) ?? {};
      const compacted = await plugin.compact({
        sessionId,
        messages: async () => [...messages],
        model: MODEL,
      });
      const summary = compacted?.summary;
      if (summary !== undefined)
        messages.splice(0, messages.length, checkpointMessage(newId("message"), summary));
      await plugin.onSignal({ type: "compacted", sessionId });
      return summary;
    },
    toasts,
    shown: () => [...shown.values()],
    stop: () => plugin.dispose(),
  };
}

interface FakeAgentSetup {
  readonly directory: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** The agent's own. */
  readonly tools?: Readonly<Record<string, (args: object) => string | Promise<string>>>;
  /** Carried: on tool outputs and messages of the user. Inbox: the agent delivers every message once, between two steps. */
  readonly results: "carried" | "inbox";
}

function programMessage(id: string, text: string): FakeMessage {
  const parts = [{ type: "text" as const, text, synthetic: true as const, own: true as const }];
  return { message: { id, role: "user", parts, createdAt: 1 } };
}

function userMessage(id: string, text: string): FakeMessage {
  return { message: { id, role: "user", parts: [{ type: "text", text }], createdAt: 1 } };
}

/** A summary as this agent shows it, with something of its own behind it. */
function checkpointMessage(id: string, summary: string): FakeMessage {
  return { ...userMessage(id, `Checkpoint\n${summary}\nRecently: something.`), checkpoint: summary };
}

/** What stands of a session, and what was taken back. */
function parted({ facts: { revertedFrom }, messages }: FakeSession): PartedSession {
  if (revertedFrom === undefined) return { messages: [...messages] };
  const index = messages.findIndex(({ message }) => message.id === revertedFrom);
  return { messages: messages.slice(0, index), undone: messages.slice(index) };
}

interface PartedSession {
  readonly messages: readonly FakeMessage[];
  readonly undone?: readonly FakeMessage[];
}

const asFake = (messages: readonly HostMessage[]): readonly FakeMessage[] =>
  messages as readonly FakeMessage[];

const format: AgentHost["format"] = {
  decode: (messages) => asFake(messages).map(({ message }) => message),
  apply(messages, edits, options) {
    const byId = new Map(asFake(messages).map((each) => [each.message.id, each]));
    return applyEdits(format.decode(messages), edits, options)
      .filter(isVisibleToModel)
      .map((message) => ({ ...byId.get(message.id), message }));
  },
  notesIn: (messages) =>
    asFake(messages).flatMap(({ message, note, handle }, index): readonly MessageNote[] =>
      note === undefined && handle === undefined
        ? []
        : [{ index, messageId: message.id, ...note, ...(handle !== undefined && { handle }) }],
    ),
  turnOf: (messages) => asFake(messages).findLast(({ turn }) => turn !== undefined)?.turn ?? {},
  withoutResults: (messages) =>
    asFake(messages).map((each) => {
      const { message, added } = each;
      const [part] = message.parts;
      if (added === undefined || part?.type !== "tool" || part.outcome.status !== "done") return each;
      const { output } = part.outcome;
      const text = output.slice(0, added.offset) + output.slice(added.offset + added.length);
      return {
        ...each,
        message: { ...message, parts: [{ ...part, outcome: withText(part.outcome, text) }] },
      };
    }),
  copy: (message) => structuredClone(message),
  textMessage: (text, place) => userMessage(place?.id ?? "text", text),
  checkpoints: {
    find: (messages) =>
      asFake(messages).flatMap(({ checkpoint: summary }, index) =>
        summary === undefined ? [] : [{ index, summary }],
      ),
    write: (message, summary) => {
      const {
        message: { id },
      } = message as FakeMessage;
      return { ...userMessage(id, `Checkpoint\n${summary}`), checkpoint: summary };
    },
  },
};
