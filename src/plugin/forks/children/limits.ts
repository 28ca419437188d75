import { createHash } from "node:crypto";
import { rootCostUSD } from "../../../fork/life/admit.ts";
import { wrapUpText } from "../../../fork/life/child-rules.ts";
import { currentRun, isLive } from "../../../fork/life/record.ts";
import { refusalOf } from "../../../fork/life/run-limits.ts";
import { safeJson } from "../../../text/json.ts";
import { createLruMap } from "../../../text/lru-map.ts";
import { isAnswer } from "../../../transcript/message.ts";
import type { Handlers, HostMessage, SessionFacts } from "../../host/agent-host.ts";
import type { ForkSetup } from "../forks.ts";

/**
 * Holds children to their limits. Every call is counted before it is made, and what was spent before every request: at a limit
 * calls are refused, the next request says that it is for the report, and the one after its answer is not made.
 */
interface ChildLimits extends Pick<Handlers, "beforeRequest" | "beforeTool"> {
  /** Takes what a child session has cost. */
  count(session: SessionFacts): Promise<void>;
}

export function createChildLimits({ context, forks }: ForkSetup): ChildLimits {
  const { keeper } = forks;
  const { format, sessions } = context.host;
  /** What children are shown whose newest answer called a tool without effect: the run may end before the last of its calls arrives. */
  const refused = createLruMap<string, string>(MAX_CHILDREN);
  /** When the newest request of a child was made: servers give the same ids to the calls of every answer. */
  const askedAtMs = createLruMap<string, number>(MAX_CHILDREN);

  async function count({ id, costUSD, tokens }: SessionFacts): Promise<void> {
    const record = keeper.ofChild(id);
    if (record === undefined) return;
    await keeper.dispatch(record.id, { type: "spent", costUSD, tokens, steps: record.spent.steps });
    const ofRoot = keeper.all().filter(({ rootSessionId }) => rootSessionId === record.rootSessionId);
    if (rootCostUSD(ofRoot) < forks.limits.rootUSD) return;
    const live = ofRoot.filter((fork) => isLive(currentRun(fork)));
    await Promise.all(live.map((fork) => keeper.dispatch(fork.id, { type: "root-cost-reached" })));
  }

  function newestAnswer(messages: readonly HostMessage[]): string | undefined {
    return format.decode(messages).findLast((message) => isAnswer(message) && message.finish !== undefined)
      ?.id;
  }

  return {
    count,
    async beforeRequest({ sessionId, messages }) {
      const child = keeper.ofChild(sessionId);
      refused.delete(sessionId);
      if (child !== undefined)
        askedAtMs.set(sessionId, Math.max(context.now(), 1 + (askedAtMs.get(sessionId) ?? 0)));
      if (child === undefined || !isLive(currentRun(child))) return undefined;
      // The signal that brings the cost of the last answer may come after the next request.
      const facts = await sessions.get(sessionId);
      if (facts.status === "ok") await count(facts.value);
      const isAtLimit = currentRun(keeper.get(child.id) ?? child);
      if (!isLive(isAtLimit) || (isAtLimit.wrapUp ?? isAtLimit.stopping) === undefined) return undefined;
      const answered = newestAnswer(messages);
      const change = await keeper.dispatch(child.id, { type: "request-started", answered });
      const run = currentRun(change?.record ?? child);
      if (isLive(run) && run.stopping !== undefined) {
        // The request is sent when this returns, unless the agent has stopped the child by then.
        const { signal } = new AbortController();
        await forks.waitForEnd(child.id, { limitMs: STOP_MS, signal });
        return undefined;
      }
      if (!isLive(run) || run.wrapUp === undefined) return undefined;
      const text = wrapUpText(run.wrapUp.limit);
      return [...messages, format.textMessage(text, { sessionId, id: REPORT_ID })];
    },
    async beforeTool(call) {
      const { sessionId, callId: givenId, tool, input } = call;
      const child = keeper.ofChild(sessionId);
      if (child === undefined) return undefined;
      forks.shown.step(child.id, call);
      const hash = createHash("sha256")
        .update(`${tool}\n${safeJson(input)}`)
        .digest("hex")
        .slice(0, 16);
      const callId = `${askedAtMs.get(sessionId) ?? 0} ${givenId} ${hash}`;
      const change = await keeper.dispatch(child.id, { type: "tool-called", callId, hash });
      if (change === undefined) return UNCOUNTED_TEXT;
      const run = currentRun(change.before);
      const refusal = isLive(run) ? refusalOf(run, callId) : refused.get(sessionId);
      if (refusal !== undefined) refused.set(sessionId, refusal);
      return refusal;
    },
  };
}

/** How long a request waits for the agent to stop it. */
const STOP_MS = 30_000;
const REPORT_ID = "carryover_report";
const UNCOUNTED_TEXT =
  "Nothing was done: the record of this fork cannot be stored now, so its calls cannot be counted. Call again in a moment, or report.";

const MAX_CHILDREN = 1_024;
