import { createLruMap } from "../../../text/lru-map.ts";
import type { Transcript } from "../../../transcript/message.ts";
import type { Feature, PluginContext } from "../../context/context.ts";
import type { HostMessage } from "../../host/agent-host.ts";
import type { RequestEntry } from "../../host/host-parts.ts";
import type { ForkSetup } from "../forks.ts";

/**
 * Shows a child what it inherited, in front of its own messages, until a summary of its own covers it; nothing is
 * stored in its session. The child of a full fork also uses the provider cache of its parent, and after its first
 * answer it is checked whether the provider really read the parent's prefix from there.
 */
export function createGraftFeature({ context, forks }: ForkSetup): Feature {
  const { capture, requests, forkLinkOf } = forks;
  const { format } = context.host;
  const summaries = createSummaryWatch(context);
  const checked = createLruMap<string, true>(MAX_CHECKED);

  async function checkPrefix(sessionId: string, { cacheReadTokens, costUSD }: RequestEntry): Promise<void> {
    const link = await forkLinkOf(sessionId);
    if (link?.mode !== "full" || link.blob === undefined || checked.get(sessionId)) return;
    checked.set(sessionId, true);
    const inheritedRequest = await requests.get(link.blob);
    const parent = inheritedRequest.status === "found" ? format.decode(inheritedRequest.messages) : [];
    const parentTokens = lastInputTokens(parent);
    if (!usesCache(parent) || cacheReadTokens >= ENOUGH * parentTokens) return;
    const readTokens = cacheReadTokens;
    context.record(sessionId, { type: "prefix-miss", fork: link.id, readTokens, parentTokens });
    if (costUSD < NOTICEABLE_USD) return;
    context.notify.toastOnce(
      "A fork did not read the conversation from the provider's cache, so it costs more than expected.",
      "warning",
    );
  }

  return {
    name: "inherited context",
    holdsForks: true,
    isFork: async (sessionId) =>
      forks.keeper.ofChild(sessionId) !== undefined || (await forkLinkOf(sessionId)) !== undefined,
    async beforeRequest(request) {
      const { sessionId, messages } = request;
      capture.see(request, context.now());
      const link = await forkLinkOf(sessionId);
      if (link?.blob === undefined || link.mode === "text") return undefined;
      if (await summaries.covers(sessionId, messages)) return undefined;
      const inheritedRequest = await requests.get(link.blob);
      if (inheritedRequest.status === "found") {
        const sent = [...inheritedRequest.messages.map(format.copy), ...messages];
        return inheritedRequest.promptHead === undefined
          ? sent
          : { messages: sent, promptHead: inheritedRequest.promptHead };
      }
      context.record(sessionId, {
        type: "fork-context-lost",
        fork: link.id,
        reason: inheritedRequest.reason,
      });
      context.notify.toastOnce(`A fork lost its inherited context: ${inheritedRequest.reason}.`, "error");
      return [format.textMessage(lostText(inheritedRequest.reason), { sessionId, id: LOST_ID }), ...messages];
    },
    async cacheOwnerOf(sessionId) {
      const link = await forkLinkOf(sessionId);
      return link?.mode === "full" ? link.parent : undefined;
    },
    async onSignal(signal) {
      // What was sent last holds messages that the user has taken back.
      if (signal.type === "updated" && signal.session.revertedFrom !== undefined)
        capture.forget(signal.session.id);
      else if (signal.type === "deleted") {
        capture.forget(signal.sessionId);
        summaries.forget(signal.sessionId);
      } else if (signal.type === "answer" && signal.isFinished && signal.request.error === undefined) {
        if (!checked.get(signal.sessionId)) await checkPrefix(signal.sessionId, signal.request);
      }
    },
  };
}

const MAX_CHECKED = 1_024;

/** Providers reuse whole blocks of a prefix, and the newest step may not be cached yet. */
const ENOUGH = 0.8;

/** What a request must have cost for people to hear that it could have been cheaper. */
const NOTICEABLE_USD = 0.05;
const LOST_ID = "carryover_lost";

function lostText(reason: string): string {
  return `The conversation that you were to inherit could not be loaded: ${reason}. You know only what follows. Say so in your report, and read again whatever you need.`;
}

/** Whether the provider has cached anything of a conversation: many do not, or not so short a one. */
function usesCache(transcript: Transcript): boolean {
  return transcript.some(({ usage }) => (usage?.cacheReadTokens ?? 0) + (usage?.cacheWriteTokens ?? 0) > 0);
}

/** What the provider counted as the input of the newest finished answer. */
function lastInputTokens(transcript: Transcript): number {
  const finished = transcript.findLast(({ role, finish }) => role === "assistant" && finish !== undefined);
  const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = finished?.usage ?? {};
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

/** Knows which children have a completed summary of their own: from then on it stands for what they inherited. */
interface SummaryWatch {
  /** `messages` is what is about to be sent; in a compaction agents leave earlier summaries out. */
  covers(sessionId: string, messages: readonly HostMessage[]): Promise<boolean>;
  forget(sessionId: string): void;
}

function createSummaryWatch({ host: { format, sessions } }: PluginContext): SummaryWatch {
  const covered = createLruMap<string, boolean>(MAX_CHILDREN);
  const hasSummary = (messages: readonly HostMessage[]): boolean =>
    format.decode(messages).some(({ summary, finish, error }) => summary && finish !== undefined && !error);
  return {
    async covers(sessionId, messages) {
      if (covered.get(sessionId)) return true;
      if (hasSummary(messages)) covered.set(sessionId, true);
      const known = covered.get(sessionId);
      if (known !== undefined) return known;
      // A child from before a restart may have been summed up already, and a compaction would not show it.
      const stored = await sessions.read(sessionId);
      if (stored.status === "failed") return false;
      const found = hasSummary(stored.value.messages);
      covered.set(sessionId, found);
      return found;
    },
    forget: (sessionId) => covered.delete(sessionId),
  };
}

const MAX_CHILDREN = 1_024;
