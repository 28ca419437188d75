import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { AgentHost, HostMessage, HostSessions, MessageNote } from "../../plugin/host/agent-host.ts";
import { pluginFolders, WAITING_FOLDER } from "../../plugin/stores/folders.ts";
import { fileAccess } from "../../stages/file-access.ts";
import { safeJson } from "../../text/json.ts";
import { messageText, type Transcript } from "../../transcript/message.ts";
import { createChildNotes } from "../child-notes.ts";
import type { AgentPlace } from "../places.ts";
import { type Children, createChildren, promptMark } from "./children.ts";
import type { FileAgent } from "./file-agent.ts";
import { decodeLines, decodeNamed, readLines } from "./session-lines.ts";

/**
 * An agent as the plugin's host whose sessions are files, with the lines as messages. They can be read at any time and are
 * changed by the agent alone; what can be started are children, each a session of its own.
 */
export function createFileHost(agent: FileAgent, place: FileHostPlace): FileHost {
  const { directory, env, log, attendance = "headless" } = place;
  const findFile = async (id: string) => (await place.findFile?.(id)) ?? agent.findSession(id, place);
  const decode = (messages: readonly HostMessage[]) => decodeLines(agent, messages);
  const { forks, root } = pluginFolders({ store: undefined, env });
  const notes = createChildNotes({ agent: agent.name, forks, directory });
  const children = createChildren({
    agent,
    place,
    notes,
    folder: join(root, WAITING_FOLDER, "output"),
    decode: (messages) => decodeNamed(agent, messages),
    log,
  });
  const refused = async () => REFUSED;
  const sessions: HostSessions = {
    async get(id) {
      const facts = (await children.factsOf(id)) ?? {
        id,
        title: "",
        agent: agent.name,
        costUSD: 0,
        tokens: 0,
      };
      return { status: "ok", value: facts };
    },
    async list({ sinceMs }) {
      const known = await children.list();
      return { status: "ok", value: known.filter(({ updatedAtMs = 0 }) => updatedAtMs >= sinceMs) };
    },
    async children(sessionId) {
      const known = await children.list();
      return { status: "ok", value: known.filter(({ parentId }) => parentId === sessionId) };
    },
    async read(sessionId) {
      const file = await findFile(sessionId);
      if (file === undefined)
        return { status: "failed", code: "missing", reason: "there is no file of this session" };
      const lines = await readLines(file);
      const { readLine } = agent;
      return { status: "ok", value: { messages: readLine === undefined ? lines : lines.map(readLine) } };
    },
    status: children.status,
    hasTool: async (_, tool) => tool === "recall",
    newMessageId: () => randomUUID(),
    createChild: children.createChild,
    limitChild: children.limitChild,
    // The agent itself refuses what its rules forbid.
    isForbidden: async () => ({ status: "ok", value: false }),
    setNote: children.setNote,
    prompt: children.prompt,
    stop: children.stop,
    rejectAsk: refused,
  };
  return {
    childProcesses: children,
    directory,
    project: `${agent.name} ${directory}`,
    attendance,
    packageFolders: [directory],
    can: {
      carryResults: true,
      rejectAsks: false,
      deliversOnce: false,
      graftRequests: false,
      wakeParents: false,
    },
    format: {
      decode,
      apply: (messages, edits, options) =>
        agent.format.apply(messages, edits, options) as readonly HostMessage[],
      notesIn: (messages) => [
        ...messages.flatMap((message, index) => notesIn(message, index)),
        ...promptNotes(messages, decode),
      ],
      turnOf: () => ({}),
      withoutResults: (messages) => messages,
      copy: (message) => structuredClone(message),
      textMessage: (text) => agent.child.textLine(text),
    },
    sessions,
    tools: { forbiddenToForks: new Map(), writtenFiles },
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

/** The host, and what runs beside it. */
export interface FileHost extends AgentHost {
  readonly childProcesses: Children;
}

interface FileHostPlace extends AgentPlace {
  readonly attendance?: AgentHost["attendance"];
  readonly log: AgentHost["log"];
  /** Where the file of a session is; the agent's own places when unset. */
  readonly findFile?: (sessionId: string) => Promise<string | undefined>;
}

const REFUSED = {
  status: "failed",
  code: "refused",
  reason: "this agent lets nobody else do that in its sessions",
} as const;

/** The prompts of ours in a child's session, by their marks. */
function promptNotes(
  messages: readonly HostMessage[],
  decode: (messages: readonly HostMessage[]) => Transcript,
): readonly MessageNote[] {
  const marked = messages.flatMap((message, index) => {
    const [, promptKey] = PROMPT_MARK.exec(safeJson(message)) ?? [];
    return promptKey === undefined ? [] : [{ index, promptKey }];
  });
  if (marked.length === 0) return [];
  const asked = decode(messages).filter(({ role }) => role === "user");
  return marked.flatMap(({ index, promptKey }) => {
    const message = asked.find((each) => messageText(each).includes(promptMark(promptKey)));
    return message === undefined ? [] : [{ index, messageId: message.id, promptKey }];
  });
}

const PROMPT_MARK = /\[fork prompt ([\w.-]{1,80})\]/;

function writtenFiles(tool: string, input: unknown): readonly string[] {
  const access = fileAccess({ tool, input });
  if (access?.type === "write" || access?.type === "edit")
    return access.path === undefined ? [] : [access.path];
  return [];
}

/** Outputs whose whole is kept: by us, or by the agent in a file of its own. */
function notesIn(message: HostMessage, index: number): readonly MessageNote[] {
  const text = safeJson(message);
  const handles = new Set<string>();
  for (const [, own] of text.matchAll(OWN_HANDLE)) if (own !== undefined) handles.add(own);
  // A file that our own notice names is the same text.
  const known = new Set([...text.matchAll(OWN_FILE)].map(([, name]) => name));
  for (const [, name] of text.matchAll(AGENTS_FILE))
    if (name !== undefined && !known.has(name)) handles.add(name);
  return [...handles].map((handle) => ({ index, messageId: undefined, handle }));
}

const OWN_HANDLE = /handle and sha256 ([0-9a-f]{64})/g;

const OWN_FILE = /sha256 [0-9a-f]{64}, path [^"\s]*tool-results[\\/]{1,2}([\w.-]{1,80}\.(?:txt|json))/g;

const AGENTS_FILE = /tool-results[\\/]{1,2}([\w.-]{1,80}\.(?:txt|json))/g;
