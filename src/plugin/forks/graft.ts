import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import type { HostCalls } from "../../hosts/opencode/calls.ts";
import { deletedSession } from "../../hosts/opencode/hooks.ts";
import { sessionMessages } from "../../hosts/opencode/sessions.ts";
import { asNumber, asObject, asString } from "../../text/json.ts";
import type { PluginContext } from "../context/context.ts";
import type { Feature } from "../host/features.ts";
import { createLruMap } from "../stores/lru-map.ts";
import { sessionOf, type ViewCapture, type ViewStore } from "../stores/views.ts";
import type { Forks } from "./forks.ts";
import type { ForkLinks } from "./links.ts";

/** Shows a child what it inherited, in front of its own messages, until a summary of its own covers it; nothing is stored in its session. */
export function createGraftFeature({ context, capture, views, bonds }: GraftSetup): Feature {
  const summaries = createSummaryWatch(context.calls);
  return {
    name: "inherited context",
    hooks: {
      "experimental.chat.messages.transform": async (_input, output) => {
        const { messages } = output;
        capture.see(messages, context.now());
        const sessionId = sessionOf(messages);
        if (sessionId === undefined) return;
        const bond = await bonds.bondOf(sessionId);
        if (bond?.blob === undefined || bond.way === "text") return;
        if (await summaries.covers(sessionId, messages)) return;
        const view = await views.get(bond.blob);
        if (view.status === "found") {
          messages.splice(0, 0, ...view.messages.map(copyOf));
          return;
        }
        messages.splice(0, 0, lostContext(sessionId, view.reason));
        context.record(sessionId, { type: "fork-context-lost", fork: bond.id, reason: view.reason });
        context.notify.toastOnce(`A fork lost its inherited context: ${view.reason}.`, "error");
      },
      event: async ({ event }) => {
        const deleted = deletedSession(event);
        if (deleted === undefined) return;
        capture.forget(deleted);
        summaries.forget(deleted);
      },
    },
  };
}

interface GraftSetup {
  readonly context: PluginContext;
  readonly capture: ViewCapture;
  readonly views: ViewStore;
  readonly bonds: ForkLinks;
}

/** Another plugin may change parts and their state in place; the kept view must stay as it is. */
function copyOf({ info, parts }: SessionMessage): SessionMessage {
  return {
    info: { ...info },
    parts: parts.map((part) =>
      typeof part.state === "object" && part.state !== null
        ? { ...part, state: { ...part.state } }
        : { ...part },
    ),
  };
}

function lostContext(sessionID: string, reason: string): SessionMessage {
  const text = `The conversation that you were to inherit could not be loaded: ${reason}. You know only what follows. Say so in your report, and read again whatever you need.`;
  const id = "msg_carryover_lost";
  return {
    info: { id, sessionID, role: "user", time: { created: 0 } },
    parts: [{ id: "prt_carryover_lost", sessionID, messageID: id, type: "text", text, synthetic: true }],
  };
}

/** Knows which children have a completed summary of their own: from then on it stands for what they inherited. */
interface SummaryWatch {
  /** `messages` is what the host is about to send; in a compaction it leaves earlier summaries out. */
  covers(sessionId: string, messages: readonly SessionMessage[]): Promise<boolean>;
  forget(sessionId: string): void;
}

function createSummaryWatch(calls: HostCalls): SummaryWatch {
  const covered = createLruMap<string, boolean>(MAX_CHILDREN);
  return {
    async covers(sessionId, messages) {
      if (messages.some(isCompletedSummary)) covered.set(sessionId, true);
      const known = covered.get(sessionId);
      if (known !== undefined) return known;
      // A child from before a restart may have been summed up already, and a compaction would not show it.
      const stored = await sessionMessages(calls, sessionId);
      if (stored.status === "failed") return false;
      const found = stored.value.some(isCompletedSummary);
      covered.set(sessionId, found);
      return found;
    },
    forget: (sessionId) => covered.delete(sessionId),
  };
}

const MAX_CHILDREN = 1_024;

function isCompletedSummary(message: SessionMessage): boolean {
  const { role, summary, finish, error } = message?.info ?? {};
  return role === "assistant" && summary === true && finish !== undefined && error === undefined;
}

/** Sends an exact child to the provider's cache of its parent: the host names both caches and routes after the session. */
export function createCacheAffinityFeature(bonds: ForkLinks): Feature {
  const parentOf = async (sessionId: string): Promise<string | undefined> => {
    const bond = await bonds.bondOf(sessionId);
    return bond?.way === "exact" ? bond.parent : undefined;
  };
  return {
    name: "cache affinity",
    hooks: {
      "chat.params": async ({ sessionID }, { options }) => {
        const parent = await parentOf(sessionID);
        if (parent === undefined) return;
        for (const [name, value] of Object.entries(options)) if (value === sessionID) options[name] = parent;
      },
      "chat.headers": async ({ sessionID, model }, { headers }) => {
        const parent = await parentOf(sessionID);
        if (parent === undefined) return;
        for (const [name, value] of Object.entries(headers)) if (value === sessionID) headers[name] = parent;
        const isHostsOwn = model.providerID.startsWith("opencode");
        headers[isHostsOwn ? "x-opencode-session" : "x-session-affinity"] = parent;
      },
    },
  };
}

/** Looks after the first step of an exact child whether the provider really read the parent's prefix from its cache. */
export function createPrefixCheckFeature({ context, forks }: PrefixCheckSetup): Feature {
  const checked = createLruMap<string, true>(MAX_CHECKED);
  return {
    name: "prefix check",
    hooks: {
      event: async ({ event }) => {
        if (event.type !== "message.updated") return;
        const info = asObject(event.properties.info);
        const sessionId = asString(info.sessionID);
        if (sessionId === undefined || checked.get(sessionId)) return;
        if (info.role !== "assistant" || info.finish === undefined || info.error !== undefined) return;
        const bond = await forks.bonds.bondOf(sessionId);
        if (bond?.way !== "exact" || bond.blob === undefined || checked.get(sessionId)) return;
        checked.set(sessionId, true);
        const view = await forks.views.get(bond.blob);
        const parentTokens = view.status === "found" ? lastInputTokens(view.messages) : 0;
        const readTokens = asNumber(asObject(asObject(info.tokens).cache).read) ?? 0;
        if (parentTokens === 0 || readTokens >= ENOUGH * parentTokens) return;
        context.record(sessionId, { type: "prefix-miss", fork: bond.id, readTokens, parentTokens });
        context.notify.toastOnce(
          "A fork did not read the conversation from the provider's cache, so it costs more than expected.",
          "warning",
        );
      },
    },
  };
}

interface PrefixCheckSetup {
  readonly context: PluginContext;
  readonly forks: Forks;
}

const MAX_CHECKED = 1_024;

/** Providers reuse whole blocks of a prefix, and the newest step may not be cached yet. */
const ENOUGH = 0.8;

/** What the provider counted as the input of the newest finished step. */
function lastInputTokens(messages: readonly SessionMessage[]): number {
  const finished = messages.findLast(({ info }) => info.role === "assistant" && info.finish !== undefined);
  const { input, cache } = asObject(finished?.info.tokens);
  const { read, write } = asObject(cache);
  return [input, read, write].reduce<number>((sum, value) => sum + (asNumber(value) ?? 0), 0);
}
