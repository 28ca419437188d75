import type { ContextEvent } from "../../../src/hosts/opencode2/requests.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../../src/text/unknown-value.ts";

/** What OpenCode 2 gives to `setup`, in memory: sessions, an inbox that takes an id once, hooks, events, tools. */
export interface FakeContext {
  /** To be given to `setUp`. */
  readonly context: UnknownObject;
  readonly tools: ReadonlyMap<string, FakeTool>;
  readonly commands: ReadonlyMap<string, UnknownObject>;
  /** The messages of a session as they would be sent. */
  messagesOf(sessionId: string): readonly UnknownObject[];
  store(sessionId: string, ...messages: readonly UnknownObject[]): void;
  session(sessionId: string): UnknownObject | undefined;
  change(sessionId: string, fields: UnknownObject): void;
  /** The prompts and messages of programs that were taken, in order. */
  readonly taken: readonly UnknownObject[];
  readonly interrupted: readonly string[];
  /** Runs the hooks of a name on an event, as the host does. */
  run(hook: string, event: object): Promise<void>;
  /** Publishes an event of a session. */
  publish(type: string, data: UnknownObject): void;
  /** The requests that left; a session that is only read makes none. */
  readonly sent: readonly UnknownObject[];
  /** How many subscriptions are open. */
  subscriptions(): number;
}

interface FakeTool {
  readonly description: string;
  readonly input: UnknownObject;
  readonly options: UnknownObject;
  execute(input: unknown, call: UnknownObject): Promise<{ readonly content: string }>;
}

export interface FakeContextSetup {
  readonly directory: string;
  readonly options?: UnknownObject;
  /** The rules of the agent `build`; it may do everything where unset. */
  readonly rules?: readonly UnknownObject[];
  /** Members that replace ours, to look like another version. */
  readonly changes?: UnknownObject;
}

export function createFakeContext({
  directory,
  options = {},
  rules,
  changes,
}: FakeContextSetup): FakeContext {
  const sessions = new Map<string, UnknownObject>();
  const messages = new Map<string, UnknownObject[]>();
  const hooks = new Map<string, ((event: object) => Promise<void>)[]>();
  const tools = new Map<string, FakeTool>();
  const commands = new Map<string, UnknownObject>();
  const taken: UnknownObject[] = [];
  const interrupted: string[] = [];
  const sent: UnknownObject[] = [];
  const listeners = new Set<(event: unknown) => void>();

  const run = async (hook: string, event: object): Promise<void> => {
    for (const each of hooks.get(hook) ?? []) await each(event);
  };
  const hook = async (name: string, each: (event: object) => Promise<void>): Promise<void> => {
    hooks.set(name, [...(hooks.get(name) ?? []), each]);
  };
  const found = (sessionId: unknown): UnknownObject => {
    const session = sessions.get(String(sessionId));
    if (session === undefined) throw Object.assign(new Error(), { _tag: "Session.NotFoundError" });
    return session;
  };
  const take = (type: string) => async (given: unknown) => {
    const item = { type, ...asObject(given) } as UnknownObject;
    found(item.sessionID);
    const known = taken.find(({ id }) => id === item.id);
    if (known !== undefined && known.text !== item.text)
      throw Object.assign(new Error(), { _tag: "Session.SyntheticConflictError" });
    if (known === undefined) {
      taken.push(item);
      const metadata = type === "prompt" ? { metadata: item.metadata } : {};
      store(String(item.sessionID), {
        id: item.id,
        role: "user",
        content: [{ type: "text", text: item.text }],
        ...metadata,
      });
    }
    return item;
  };
  function store(sessionId: string, ...more: readonly UnknownObject[]): void {
    messages.set(sessionId, [...(messages.get(sessionId) ?? []), ...more]);
  }

  const context = {
    options,
    app: { name: "fake" },
    agent: {
      list: async () => ({
        location: { directory },
        data: [
          { id: "build", mode: "primary", hidden: false, permissions: rules ?? EVERYTHING },
          { id: "free", mode: "subagent", hidden: false, permissions: EVERYTHING },
        ],
      }),
    },
    catalog: { model: { list: async () => ({ data: [MODEL] }) } },
    command: {
      transform: async (change: (draft: unknown) => void) =>
        change({
          update(name: string, edit: (command: object) => void) {
            const command = {};
            edit(command);
            commands.set(name, command);
          },
        }),
    },
    event: {
      subscribe: () => subscription(listeners),
    },
    session: {
      hook,
      async create(given: unknown) {
        const session = asObject(given);
        const { parentID: _, metadata: __, ...kept } = session;
        sessions.set(String(session.id), kept);
        return kept;
      },
      get: async ({ sessionID }: { sessionID: string }) => found(sessionID),
      prompt: take("prompt"),
      synthetic: take("synthetic"),
      async interrupt({ sessionID }: { sessionID: string }) {
        interrupted.push(sessionID);
      },
      wait: async () => undefined,
      async generate({ sessionID, prompt }: { sessionID: string; prompt: string }) {
        found(sessionID);
        const asked = { role: "user", content: [{ type: "text", text: prompt }] };
        const event = {
          sessionID,
          system: [],
          messages: [...(messages.get(sessionID) ?? []), asked],
          tools: {},
        };
        await run("context", event);
        sent.push(event);
      },
    },
    tool: {
      hook,
      transform: async (change: (draft: unknown) => void) =>
        change({ add: (tool: FakeTool & { readonly name: string }) => tools.set(tool.name, tool) }),
    },
    ...changes,
  };
  return {
    context,
    tools,
    commands,
    messagesOf: (sessionId) => messages.get(sessionId) ?? [],
    store,
    session: (sessionId) => sessions.get(sessionId),
    change: (id, fields) =>
      void sessions.set(id, { id, location: { directory }, ...sessions.get(id), ...fields }),
    taken,
    interrupted,
    run,
    publish(type, data) {
      for (const tell of listeners) tell({ type, data, location: { directory } });
    },
    sent,
    subscriptions: () => listeners.size,
  };
}

const EVERYTHING = [{ action: "*", resource: "*", effect: "allow" }];

export const MODEL: UnknownObject = {
  id: "m",
  providerID: "p",
  limit: { context: 200_000, output: 8_000 },
  cost: [{ input: 3, output: 15, cache: { read: 0.3, write: 3.75 } }],
};

/** The event of a request. */
export function contextEvent(sessionID: string, messages: readonly object[]): ContextEvent {
  return {
    sessionID,
    agent: "build",
    model: { id: "m", providerID: "p" },
    system: [{ type: "text", text: `You work in ${sessionID}.` }] as unknown[],
    messages: [...messages],
    tools: { read: { description: "Reads", input: {} } } as Record<string, unknown>,
  };
}

/** A message of the user as it is sent. */
export function userMessage(id: string, text: string): UnknownObject {
  return { id, role: "user", content: [{ type: "text", text }], metadata: {} };
}

/** The text of the newest message in a list. */
export function lastText(messages: readonly unknown[]): string {
  return asArray(asObject(messages.at(-1)).content)
    .map((part) => asString(asObject(part).text) ?? "")
    .join("");
}

async function* subscription(listeners: Set<(event: unknown) => void>): AsyncGenerator<unknown> {
  const waiting: unknown[] = [];
  let wake = (): void => {};
  const tell = (event: unknown): void => {
    waiting.push(event);
    wake();
  };
  listeners.add(tell);
  try {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    listeners.delete(tell);
  }
}
