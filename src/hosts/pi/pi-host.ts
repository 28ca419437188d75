import { setTimeout as sleep } from "node:timers/promises";
import type { FileAgent } from "../../agents/files/file-agent.ts";
import { createFileHost, type FileHost } from "../../agents/files/file-host.ts";
import { OWN_TYPE } from "../../formats/files/pi/read-pi-lines.ts";
import type { AgentHost, HostPrompt, HostSessions, HostValue } from "../../plugin/host/agent-host.ts";
import type { HostCheckpoints, ModelFacts } from "../../plugin/host/host-parts.ts";
import { textOrJson } from "../../text/json.ts";
import { asNumber, asObject, type UnknownObject } from "../../text/unknown-value.ts";
import { createPiAgent } from "./pi-agent.ts";
import type { PiContext, PiHostSetup, PiModel } from "./pi-api.ts";
import { createScreen, type PiScreen } from "./pi-screen.ts";

/**
 * pi as the plugin's host. The session that is open is read from pi's memory and spoken to through its interface; children
 * are sessions in files of ours, which pi's own program goes on with.
 */
export function createPiHost(setup: PiHostSetup): PiHost {
  const { api, current } = setup;
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
        if (isStored()) return DONE;
      // It waits for a call to end.
      return { status: "failed", code: "no-answer", reason: "the message is not stored yet" };
    } catch (cause) {
      queue.delete(messageId);
      return { status: "failed", code: "refused", reason: String(cause) };
    }
  }

  const sessions: HostSessions = {
    ...base.sessions,
    async read(sessionId) {
      const branch = openSession(sessionId)?.sessionManager.getBranch();
      if (branch === undefined) return base.sessions.read(sessionId);
      for (const { details } of branch) queue.delete(textOrJson(asObject(details).messageId));
      const lines = [...queue.values()];
      const waiting = lines.map((line, at) => ({ ...line, parentId: (lines[at - 1] ?? branch.at(-1))?.id }));
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
      return DONE;
    },
  };

  return {
    ...base,
    agent,
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
    format: { ...base.format, checkpoints },
    sessions,
    screen: createScreen(setup),
    dropQueue: () => queue.clear(),
  };
}

export interface PiHost extends FileHost {
  readonly agent: FileAgent;
  readonly screen: PiScreen;
  /** What was queued and is not stored by now is gone: pi drops it when its user stops the agent. */
  dropQueue(): void;
}

const DONE: HostValue<void> = { status: "ok", value: undefined };
const STORE_MS = 60_000;
const LOOK_MS = 50;

/** pi keeps what it was told to keep behind a summary. */
const checkpoints: HostCheckpoints = {
  keepsTail: true,
  find: (messages) =>
    messages.flatMap((message, index) => {
      const { type, summary } = asObject(message);
      return type === "compaction" && typeof summary === "string" ? [{ index, summary }] : [];
    }),
  write: (message, summary) => ({ ...message, summary }),
};

/** A model as pi describes it. It compacts when less than its reserve is left, whatever the longest answer is. */
export function modelFacts(model: PiModel, settings: unknown): ModelFacts {
  const { provider, id, contextWindow, cost } = model;
  const reserve = asNumber(asObject(asObject(settings).compaction).reserveTokens) ?? RESERVE_TOKENS;
  const facts = { provider, id, contextTokens: contextWindow, outputTokens: reserve };
  return cost !== undefined && cost.input > 0 ? { ...facts, prices: cost } : facts;
}

const RESERVE_TOKENS = 16_384;
