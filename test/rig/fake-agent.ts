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
import type { ShownPiece } from "../../src/plugin/host/screen.ts";
import { createPlugin } from "../../src/plugin/plugin.ts";
import { applyEdits } from "../../src/transcript/edit.ts";
import { isVisibleToModel, type Message, type Transcript } from "../../src/transcript/message.ts";
import { withText } from "../../src/transcript/part.ts";

/** What the model answers next: words that end its turn, or a call of a tool. */
export type Reply = { readonly say: string } | { readonly call: string; readonly args: object };

/** A coding agent in memory whose model is scripted; its messages have a shape of their own. */
export interface FakeAgent {
  readonly host: AgentHost;
  newSession(): string;
  /** A message of the user and the whole turn that it begins. */
  turn(sessionId: string, text: string, replies: readonly Reply[]): Promise<void>;
  /** What children answer, in order. */
  readonly childReplies: Reply[];
  /** What was sent to the model for a session, request by request. */
  requests(sessionId: string): readonly Transcript[];
  stored(sessionId: string): Transcript;
  childrenOf(sessionId: string): readonly string[];
  /** What the plugin adds to the agent's request for a summary. */
  compact(sessionId: string): Promise<readonly string[]>;
  readonly toasts: readonly string[];
  /** What people see in the conversations beside the messages. */
  shown(): readonly ShownPiece[];
  stop(): Promise<void>;
}

interface FakeMessage {
  readonly message: Message;
  readonly note?: HostPrompt["note"];
  readonly handle?: string | undefined;
  readonly turn?: TurnSettings;
  /** Where results were added to the output of its tool. */
  readonly added?: { readonly offset: number; readonly length: number };
}

interface FakeSession {
  readonly facts: SessionFacts;
  readonly messages: FakeMessage[];
  readonly requests: Transcript[];
  status: SessionStatus;
}

const MODEL = { provider: "p", id: "m", contextTokens: 200_000, outputTokens: 8_000 };
const TURN: TurnSettings = { agent: "build", model: { providerId: "p", modelId: "m" } };

/** Runs the plugin with the options; `tools` are the agent's own. */
export function createFakeAgent(
  directory: string,
  options: Readonly<Record<string, unknown>>,
  tools: Readonly<Record<string, (args: object) => string | Promise<string>>> = {},
): FakeAgent {
  const sessions = new Map<string, FakeSession>();
  const toasts: string[] = [];
  const shown = new Map<string, ShownPiece>();
  const childReplies: Reply[] = [];
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
    can: { carryResults: true, rejectAsks: false },
    format,
    tools: {
      kindOf: (tool) => (tool === "delegate" ? "subagent" : undefined),
      writtenFiles: (tool, input) => (tool === "save" ? [String((input as { path: string }).path)] : []),
    },
    agents: async () => ({ status: "ok", value: [{ name: "build", isHidden: false }] }),
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
      read: (id) => within(id, ({ messages }) => ({ messages: [...messages] })),
      status: async (id) => sessions.get(id)?.status,
      createChild: async ({ rootSessionId, title, note }) => ({
        status: "ok",
        value: add({ id: newId("child"), parentId: rootSessionId, title, note }),
      }),
      setNote: (id) => within(id, () => undefined),
      newMessageId: () => newId("message"),
      prompt: ({ sessionId, messageId, text, note, turn, reply }) =>
        within(sessionId, (session) => {
          const settings = turn === "last-user-turn" ? TURN : turn;
          session.messages.push({ ...userMessage(messageId, text), note, turn: settings });
          const replies = session.facts.parentId === undefined ? [{ say: "Noted." }] : childReplies;
          if (reply === "wanted" && session.status === "idle") void answer(sessionId, replies);
        }),
      stop: (id) => within(id, () => undefined),
      rejectAsk: async () => ({ status: "failed", code: "refused", reason: "it cannot" }),
    },
  };
  const plugin: AgentPlugin = createPlugin(host, { log: "off", ...options }, { env: {} });

  function factsBelow(id: string): readonly SessionFacts[] {
    return [...sessions.values()].map(({ facts }) => facts).filter(({ parentId }) => parentId === id);
  }

  /** One turn of the model: requests and tool calls until it has said something. */
  async function answer(sessionId: string, replies: readonly Reply[] | Reply[]): Promise<void> {
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
      session.messages.push(await runTool(sessionId, reply));
    }
    session.status = "idle";
    await plugin.onSignal({ type: "idle", sessionId });
  }

  async function runTool(
    sessionId: string,
    reply: Extract<Reply, { readonly call: string }>,
  ): Promise<FakeMessage> {
    const { call: tool, args } = reply;
    const callId = newId("call");
    const running = { sessionId, callId, agent: "build", signal: new AbortController().signal, model: MODEL };
    const refusal = await plugin.beforeTool({ sessionId, callId, tool, input: args });
    const execute = async (): Promise<string> =>
      (await plugin.tools[tool]?.execute(args, { ...running, setTitle: () => {} })) ??
      (await tools[tool]?.(args)) ??
      "no such tool";
    let text = refusal ?? (await execute());
    const whole = text;
    let noted: Pick<FakeMessage, "handle" | "added"> = {};
    const change = (made: ToolOutputChange): void => {
      if (made.type === "append")
        noted = { ...noted, added: { offset: text.length, length: made.text.length } };
      else if (made.spilled) noted = { ...noted, handle: made.spilled.handle };
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
    const outcome = { status: "done", output: text, attachments: [] } as const;
    const part = { type: "tool", callId, tool, input: args, outcome } as const;
    const message = { id: newId("message"), role: "assistant", parts: [part], finish: "tool-calls" };
    return { message, ...noted };
  }

  let isReady = false;
  return {
    host,
    newSession: () => add({ id: newId("session"), title: "" }),
    async turn(sessionId, text, replies) {
      if (!isReady) await plugin.onSignal({ type: "ready" });
      isReady = true;
      const messageId = newId("message");
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
    childrenOf: (sessionId) => factsBelow(sessionId).map(({ id }) => id),
    compact: (sessionId) => plugin.beforeCompaction({ sessionId }),
    toasts,
    shown: () => [...shown.values()],
    stop: () => plugin.dispose(),
  };
}

function userMessage(id: string, text: string): FakeMessage {
  return { message: { id, role: "user", parts: [{ type: "text", text }], createdAt: 1 } };
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
  createDecoder: () => format.decode,
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
};
