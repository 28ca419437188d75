import type { SessionMessage } from "../../../formats/opencode/session-message.ts";
import { sessionMessages } from "../forks/child-session.ts";
import type { HostCalls } from "../host-calls.ts";
import { createRecentMap } from "../recent-map.ts";

/** Knows which children have a completed summary of their own: from then on it stands for what they inherited. */
export interface SummaryWatch {
  /** `messages` is what the host is about to send; in a compaction it leaves earlier summaries out. */
  covers(sessionId: string, messages: readonly SessionMessage[]): Promise<boolean>;
  forget(sessionId: string): void;
}

export function createSummaryWatch(calls: HostCalls): SummaryWatch {
  const covered = createRecentMap<string, boolean>(MAX_CHILDREN);
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
