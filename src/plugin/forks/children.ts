import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { rootCostUSD } from "../../fork/life/admit.ts";
import { forbiddenText, notAllowedText, wrapUpText } from "../../fork/life/child-rules.ts";
import { currentRun, type ForkRecord, forkName, isLive } from "../../fork/life/record.ts";
import { refusalOf } from "../../fork/life/run-limits.ts";
import { readForkRecord } from "../../fork/life/stored-record.ts";
import { safeJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { isAnswer, type Transcript } from "../../transcript/message.ts";
import type { Feature, PluginContext } from "../context/context.ts";
import type { Handlers, HostMessage, SessionFacts, ToolCall } from "../host/agent-host.ts";
import type { RequestEntry } from "../host/host-parts.ts";
import type { ForkSetup } from "./forks.ts";
import type { NewEvent } from "./keeper.ts";

/** Turns what the agent says about sessions into events of the forks whose child or parent they are. */
export function createChildEventsFeature({ context, forks }: ForkSetup): Feature {
  const { keeper } = forks;
  const { sessions } = context.host;
  const gone = createLruMap<string, true>(MAX_GONE);
  const limits = createChildLimits({ context, forks });
  const dispatchToChild = (sessionId: string, event: NewEvent): void => {
    const record = keeper.ofChild(sessionId);
    if (record !== undefined) void keeper.dispatch(record.id, event);
  };
  const dispatchToForksOf = (parentSessionId: string, event: NewEvent): void => {
    for (const record of keeper.all()) {
      if (record.parentSessionId === parentSessionId) void keeper.dispatch(record.id, event);
    }
  };
  /** Agents go on with what a deleted session is doing; stopped at once, its next request is not made. */
  const stopChild = (sessionId: string): void => {
    if (keeper.ofChild(sessionId) !== undefined) void sessions.stop(sessionId);
  };
  /** Another program may have deleted it, whose signals are not heard here; a request that it repeats would fail again. */
  const stopIfGone = async (sessionId: string): Promise<void> => {
    if (keeper.ofChild(sessionId) === undefined) return;
    const answer = await sessions.get(sessionId);
    if (answer.status === "failed" && answer.code === "missing") stopChild(sessionId);
  };
  /** A child that stops right after its prompt may only be starting; it is looked at again when that is over. */
  const checkAgain = (sessionId: string): void => {
    if (keeper.ofChild(sessionId) === undefined) return;
    const timer = setTimeout(async () => {
      const status = await sessions.status(sessionId);
      if (status === "idle") dispatchToChild(sessionId, { type: "status", status });
    }, SETTLED_MS);
    timer.unref?.();
  };
  /** Agents do not say whose question a permission dialog is: a line at the end of the conversation stands right above it. */
  const showAsk = ({ askId, what = "" }: Ask, record: ForkRecord | undefined): void => {
    if (record === undefined) return;
    const { parentSessionId: sessionId } = record;
    const text = `${forkName(record)} asks for a permission${what === "" ? "" : `: ${what}`}`;
    context.show({ type: "line", sessionId, key: `ask ${askId}`, label: "Carryover", text });
  };
  return {
    name: "fork events",
    holdsForks: true,
    async onSignal(signal) {
      context.tree.observe(signal);
      switch (signal.type) {
        case "idle":
          dispatchToChild(signal.sessionId, { type: "status", status: "idle" });
          return checkAgain(signal.sessionId);
        case "busy":
          return dispatchToChild(signal.sessionId, { type: "status", status: signal.type });
        case "retry":
          dispatchToChild(signal.sessionId, { type: "status", status: signal.type });
          return stopIfGone(signal.sessionId);
        case "failed":
          dispatchToChild(signal.sessionId, { type: "child-failed", error: signal.error });
          if (signal.error.kind === "aborted")
            dispatchToForksOf(signal.sessionId, { type: "parent-aborted" });
          return;
        case "deleted":
          stopChild(signal.sessionId);
          dispatchToChild(signal.sessionId, { type: "child-deleted" });
          dispatchToForksOf(signal.sessionId, { type: "parent-deleted" });
          return dropView(signal.sessionId);
        case "updated":
          return limits.count(signal.session);
        case "request": {
          const record = keeper.ofChild(signal.sessionId);
          if (record === undefined) return;
          const { costUSD, tokens, steps } = record.spent;
          return dispatchToChild(signal.sessionId, { type: "spent", costUSD, tokens, steps: steps + 1 });
        }
        case "permission-asked":
        case "permission-answered": {
          const { sessionId, ...event } = signal;
          if (event.type === "permission-asked") showAsk(event, keeper.ofChild(sessionId));
          return dispatchToChild(sessionId, event);
        }
      }
    },
    beforeRequest: limits.beforeRequest,
    beforeTool: limits.beforeTool,
  };

  /** What a child inherited goes with its session, unless a sibling still shows it, in whatever program that runs. */
  async function dropView(childSessionId: string): Promise<void> {
    const blob = keeper.ofChild(childSessionId)?.inherited.snapshotId;
    if (blob === undefined) return;
    gone.set(childSessionId, true);
    const listed = await forks.store.list();
    // What stays goes with its age.
    if (listed.status === "failed") return;
    const records = listed.records.flatMap(({ value }) => readForkRecord(value) ?? []);
    const isShared = [...records, ...keeper.all()].some(
      (other) => other.inherited.snapshotId === blob && !gone.get(other.childSessionId ?? ""),
    );
    if (!isShared) forks.views.remove(blob);
  }
}

interface Ask {
  readonly askId: string;
  readonly what?: string;
}

/** A little longer than a child may be idle before its first step. */
const SETTLED_MS = 5_200;
const MAX_GONE = 1_024;

/**
 * Refuses tool calls: to children what they must not do (their tools stay declared, since another tool list would lose the
 * provider's cached prefix), and to anybody, once, a file that a running fork is editing.
 */
export function createChildGuards({ context, forks }: ForkSetup): Feature {
  const { directory, tools, sessions } = context.host;
  const writers = createLruMap<string, string>(MAX_FILES);
  const warned = createLruMap<string, true>(MAX_FILES);

  function fileWarning({ sessionId, tool, input }: ToolCall): string | undefined {
    for (const file of tools.writtenFiles(tool, input)) {
      const path = resolve(directory, file);
      const writer = writers.get(path);
      const other = writer === undefined || writer === sessionId ? undefined : forks.keeper.ofChild(writer);
      const warning = `${sessionId} ${writer} ${path}`;
      if (other !== undefined && isLive(currentRun(other)) && !warned.get(warning)) {
        warned.set(warning, true);
        return `${forkName(other)} is editing ${file} and still runs. Nothing was written. Read the file again, then either leave it to that fork or call again: the next call goes through.`;
      }
      if (forks.keeper.ofChild(sessionId) !== undefined) writers.set(path, sessionId);
    }
    return undefined;
  }

  return {
    name: "fork guards",
    holdsForks: true,
    async beforeTool(call) {
      if ((await forks.forkLinkOf(call.sessionId)) !== undefined) {
        const act = tools.forbiddenToForks.get(call.tool);
        if (act !== undefined) return forbiddenText(act);
        const forbidden = await sessions.isForbidden(call);
        if (forbidden.status === "failed") return `Not done: the host did not say whether you may.`;
        if (forbidden.value) return notAllowedText(call.tool);
      }
      return fileWarning(call);
    },
  };
}

/** Enough for all that forks write while they run; only those that run are warned of. */
const MAX_FILES = 4_096;

/**
 * Shows a child what it inherited, in front of its own messages, until a summary of its own covers it; nothing is stored in
 * its session. The child of an exact fork also uses the provider cache of its parent, and after its first answer it is
 * checked whether the provider really read the parent's prefix from there.
 */
export function createGraftFeature({ context, forks }: ForkSetup): Feature {
  const { capture, views, forkLinkOf } = forks;
  const { format } = context.host;
  const summaries = createSummaryWatch(context);
  const checked = createLruMap<string, true>(MAX_CHECKED);

  async function checkPrefix(sessionId: string, { cacheReadTokens, costUSD }: RequestEntry): Promise<void> {
    const link = await forkLinkOf(sessionId);
    if (link?.way !== "exact" || link.blob === undefined || checked.get(sessionId)) return;
    checked.set(sessionId, true);
    const view = await views.get(link.blob);
    const parent = view.status === "found" ? format.decode(view.messages) : [];
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
      if (link?.blob === undefined || link.way === "text") return undefined;
      if (await summaries.covers(sessionId, messages)) return undefined;
      const view = await views.get(link.blob);
      if (view.status === "found") {
        const sent = [...view.messages.map(format.copy), ...messages];
        return view.frame === undefined ? sent : { messages: sent, frame: view.frame };
      }
      context.record(sessionId, { type: "fork-context-lost", fork: link.id, reason: view.reason });
      context.notify.toastOnce(`A fork lost its inherited context: ${view.reason}.`, "error");
      return [format.textMessage(lostText(view.reason), { sessionId, id: LOST_ID }), ...messages];
    },
    async cacheOwnerOf(sessionId) {
      const link = await forkLinkOf(sessionId);
      return link?.way === "exact" ? link.parent : undefined;
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
