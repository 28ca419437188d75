import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { readJsonLines } from "../../formats/lines/read-json-lines.ts";
import type { AgentHost, HostMessage, HostSessions, MessageNote } from "../../plugin/host/agent-host.ts";
import { safeJson } from "../../text/json.ts";
import type { SpillStore } from "../../tool-output/spill.ts";
import type { Message } from "../../transcript/message.ts";
import type { AgentPlace, HookAgent } from "./hook-agent.ts";

/**
 * An agent of hooks as the plugin's host: its sessions are files, whose lines are the messages. It can be read at any time
 * and changed only by the answers of hooks, so everything that would start or change a session is refused.
 */
export function createFileHost(agent: HookAgent, place: FileHostPlace): AgentHost {
  const { directory, log, findFile = (id) => agent.findSession(id, place) } = place;
  const decode = (messages: readonly HostMessage[]) => agent.format.decode(messages).map(byAgent(agent));
  const refused = async () => REFUSED;
  const sessions: HostSessions = {
    get: async (id) => ({ status: "ok", value: { id, title: "", agent: agent.name, costUSD: 0, tokens: 0 } }),
    list: async () => ({ status: "ok", value: [] }),
    children: async () => ({ status: "ok", value: [] }),
    async read(sessionId) {
      const file = await findFile(sessionId);
      if (file === undefined)
        return { status: "failed", code: "missing", reason: "there is no file of this session" };
      return { status: "ok", value: { messages: await readLines(file) } };
    },
    status: async () => undefined,
    hasTool: async (_, tool) => tool === "recall",
    newMessageId: () => randomUUID(),
    createChild: refused,
    limitChild: refused,
    isForbidden: refused,
    setNote: refused,
    prompt: refused,
    stop: refused,
    rejectAsk: refused,
  };
  return {
    directory,
    project: `${agent.name} ${directory}`,
    attendance: "headless",
    packageFolders: [directory],
    can: { carryResults: false, rejectAsks: false, deliversOnce: false },
    format: {
      decode,
      apply: (messages, edits, options) =>
        agent.format.apply(messages, edits, options) as readonly HostMessage[],
      createDecoder: () => decode,
      notesIn: (messages) => messages.flatMap((message, index) => notesIn(message, index)),
      turnOf: () => ({}),
      withoutResults: (messages) => messages,
      copy: (message) => structuredClone(message),
      textMessage: (text) => ({ text }),
    },
    sessions,
    tools: { kindOf: () => undefined, writtenFiles: () => [] },
    screen: {
      reach: "toasts",
      toast: () => {},
      show: async () => "not-shown",
      open: async () => "not-opened",
    },
    agents: async () => ({ status: "ok", value: [] }),
    log,
  };
}

interface FileHostPlace extends AgentPlace {
  readonly log: AgentHost["log"];
  /** Where the file of a session is; the agent's own places when unset. */
  readonly findFile?: (sessionId: string) => Promise<string | undefined>;
}

const REFUSED = {
  status: "failed",
  code: "refused",
  reason: "this agent lets nobody else do that in its sessions",
} as const;

/** The lines of a session's file; broken ones are passed over. */
export async function readLines(file: string): Promise<readonly HostMessage[]> {
  const lines: HostMessage[] = [];
  for await (const batch of readJsonLines(createReadStream(file)))
    for (const { value } of batch) if (typeof value === "object" && value !== null) lines.push(value);
  return lines;
}

/** What an agent wrote in the user's name is not the user's own word. */
function byAgent({ addedByAgent }: HookAgent): (message: Message) => Message {
  return (message) => {
    if (message.role !== "user") return message;
    const isAdded = (text: string): boolean => addedByAgent.test(text);
    if (!message.parts.some((part) => part.type === "text" && isAdded(part.text))) return message;
    const parts = message.parts.map((part) =>
      part.type === "text" && isAdded(part.text) ? { ...part, synthetic: true as const } : part,
    );
    return { ...message, parts };
  };
}

/** Outputs whose whole is kept: by us, or by the agent in a file of its own. */
function notesIn(message: HostMessage, index: number): readonly MessageNote[] {
  const text = safeJson(message);
  const handles = new Set<string>();
  for (const [, own] of text.matchAll(OWN_HANDLE)) if (own !== undefined) handles.add(own);
  for (const [, name] of text.matchAll(AGENTS_FILE)) if (name !== undefined) handles.add(name);
  return [...handles].map((handle) => ({ index, messageId: undefined, handle }));
}

const OWN_HANDLE = /handle and sha256 ([0-9a-f]{64})/g;
const AGENTS_FILE = /tool-results[\\/]{1,2}([\w.-]{1,80}\.(?:txt|json))/g;

/** The store, and behind it the files in which the agent itself keeps whole outputs, by name or by path. */
export function withAgentsFiles(store: SpillStore, folder: () => Promise<string | undefined>): SpillStore {
  return {
    put: (content) => store.put(content),
    async get(handle) {
      const kept = await store.get(handle).catch(() => undefined);
      if (kept !== undefined) return kept;
      const [, name] = /^(?:.*[\\/]tool-results[\\/])?([\w.-]{1,80}\.(?:txt|json))$/s.exec(handle) ?? [];
      const where = name === undefined ? undefined : await folder();
      if (where === undefined || name === undefined) return undefined;
      try {
        // A link would lead elsewhere.
        const path = await realpath(join(where, basename(name)));
        if (path !== join(await realpath(where), name)) return undefined;
        return await readFile(path, "utf8");
      } catch {
        return undefined;
      }
    },
  };
}
