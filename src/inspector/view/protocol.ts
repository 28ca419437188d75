import type { RequestEntry } from "../../plugin/host/agent-host.ts";
import type { EditBatch } from "../../session/history.ts";
import type { Message } from "../../transcript/message.ts";
import type { InspectedSession } from "./types.ts";

/** The state after an event; the same reference when the event changes nothing. */
export function applyLiveEvent(state: LiveState, event: LiveEvent): LiveState {
  switch (event.type) {
    case "messages":
      return { ...state, session: { ...state.session, transcript: changedTranscript(state, event) } };
    case "batches":
      return { ...state, session: { ...state.session, batches: event.batches } };
    case "journal":
      return withEntries(event.start ? withoutHistory(state) : state, event.entries);
    case "session": {
      const { activity, forks } = event;
      return { ...state, session: withHead(state.session, event.session), activity, forks };
    }
    default:
      event satisfies never;
      return state;
  }
}

/** A session of which nothing was heard yet. */
export function liveStateOf(session: InspectedSession): LiveState {
  return { session, activity: "quiet", forks: [], ...NOTHING_HAPPENED };
}

/** What the page knows of a session that runs. */
export interface LiveState extends Happenings {
  readonly session: InspectedSession;
  readonly activity: LiveActivity;
  /** Newest first. */
  readonly forks: readonly LiveFork[];
}

/** Working: something was written within the last seconds. Quiet: not, and its OpenCode runs. Ended: no OpenCode with our plugin runs. */
export type LiveActivity = "working" | "quiet" | "ended";

interface Happenings {
  /** All requests of the session itself, and those of its children. */
  readonly own: LiveTotals;
  readonly children: LiveTotals;
  /** The newest request of the session itself that was no summary. */
  readonly lastRequest?: RequestEntry;
  /** What the edits in force keep from the model, newest first. */
  readonly left: readonly OmittedItem[];
  /** The newest things that happened, oldest first. */
  readonly entries: readonly LiveEntry[];
}

/** Sums over requests. */
export interface LiveTotals {
  readonly requests: number;
  readonly failedRequests: number;
  /** Read anew: neither from the cache nor written to it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly costUSD: number;
}

/** The share of everything sent that came from the provider's cache, from 0 to 1. */
export function cacheHitShare({ inputTokens, cacheReadTokens, cacheWriteTokens }: SentTokens): number {
  const sentTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  return sentTokens === 0 ? 0 : cacheReadTokens / sentTokens;
}

type SentTokens = Pick<LiveTotals, "inputTokens" | "cacheReadTokens" | "cacheWriteTokens">;

/** Something that an edit keeps from the model, and why. */
export interface OmittedItem {
  readonly batchId: string;
  readonly atMs: number;
  readonly messageId: string;
  /** Unset when the whole message left. */
  readonly partIndex?: number;
  readonly stage: string;
  readonly reason: string;
  readonly savedTokens: number;
  /** Where it can be recalled. */
  readonly handle: string;
}

/** A fork as it stands. */
export interface LiveFork {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly isLive: boolean;
  readonly way: string;
  readonly calls: number;
  readonly tokens: number;
  readonly costUSD: number;
  readonly queuedAtMs: number;
  readonly endedAtMs?: number;
  readonly childSessionId?: string;
  readonly error?: string;
}

/** One thing that the plugin wrote down. */
export type LiveEntry = { readonly atMs: number; readonly sessionId: string } & (
  | RequestEntry
  /** An output that was bounded as it came in. */
  | {
      readonly type: "tool-output";
      readonly tool: string;
      readonly callId: string;
      readonly shownChars: number;
      readonly totalChars: number;
      readonly handle?: string;
    }
  | LiveBatch
  /** A batch that was taken back, or that its session can no longer apply. */
  | { readonly type: "batch-gone"; readonly batchId: string; readonly why: "undo" | "drop" }
  | {
      readonly type: "fork";
      readonly fork: string;
      readonly number: number;
      readonly state: string;
      readonly because: string;
    }
  | { readonly type: "note"; readonly level: "info" | "problem"; readonly text: string }
);

/** Edits that were made together, with the arithmetic behind them. */
export interface LiveBatch {
  readonly type: "batch";
  readonly batchId: string;
  readonly step: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly savedTokensPerTurn?: number;
  readonly rewrittenTokens?: number;
  /** After how many requests it is paid; unset when never. */
  readonly breakEvenTurns?: number;
  readonly left: readonly OmittedItem[];
}

/** What the server says while it follows a session. */
export type LiveEvent = MessagesEvent | BatchesEvent | JournalEvent | SessionHeadEvent;

/** Messages that are new or have changed. */
export interface MessagesEvent {
  readonly type: "messages";
  /** Grows with every change. A stream that is opened with the newest one that is known repeats nothing. */
  readonly revision: number;
  /** How many messages there are now; those beyond are gone. */
  readonly count: number;
  readonly changes: readonly MessageChange[];
}

export interface MessageChange {
  readonly index: number;
  readonly message: Message;
}

/** The edits that are made in every request from now on; those said before no longer count. */
interface BatchesEvent {
  readonly type: "batches";
  readonly batches: readonly EditBatch[];
}

/** What happened, oldest first. */
interface JournalEvent {
  readonly type: "journal";
  readonly entries: readonly LiveEntry[];
  /** Everything that happened so far; what was heard before does not count. */
  readonly start?: true;
}

/** What is known about the session besides its messages, and its forks. */
interface SessionHeadEvent {
  readonly type: "session";
  readonly session: SessionHead;
  readonly activity: LiveActivity;
  readonly forks: readonly LiveFork[];
}

/** Everything about a session but its messages and their edits. */
export type SessionHead = Omit<InspectedSession, "transcript" | "batches">;

/** What `/api/session` gives. */
export interface ServedSession extends SessionHead {
  /** How many messages there are. */
  readonly messages: number;
  /** Set when `/api/events` can be followed: the revision to open it with, as `?revision=`. */
  readonly live?: { readonly revision: number };
}

const NO_REQUESTS: LiveTotals = {
  requests: 0,
  failedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUSD: 0,
};

const NOTHING_HAPPENED: Happenings = { own: NO_REQUESTS, children: NO_REQUESTS, left: [], entries: [] };

function withoutHistory({ session, activity, forks }: LiveState): LiveState {
  return { session, activity, forks, ...NOTHING_HAPPENED };
}

/** What is shown of the past; sums count everything. */
const MAX_ENTRIES = 200;

function changedTranscript({ session }: LiveState, { count, changes }: MessagesEvent): readonly Message[] {
  const messages = session.transcript.slice(0, count);
  for (const { index, message } of changes) if (index < count) messages[index] = message;
  return messages;
}

/** The same reference when nothing new is said: everything that is measured hangs on it. */
function withHead(session: InspectedSession, head: SessionHead): InspectedSession {
  const { transcript, batches, ...before } = session;
  if (JSON.stringify(before) === JSON.stringify(head)) return session;
  return { ...head, transcript, ...(batches && { batches }) };
}

function withEntries(state: LiveState, entries: readonly LiveEntry[]): LiveState {
  if (entries.length === 0) return state;
  let { own, children, lastRequest, left } = state;
  const { sessionId } = state.session;
  for (const entry of entries) {
    const isOwn = entry.sessionId === sessionId;
    if (entry.type === "request" && isOwn) {
      own = withRequest(own, entry);
      if (!entry.summary && entry.error === undefined) lastRequest = entry;
    } else if (entry.type === "request") children = withRequest(children, entry);
    else if (entry.type === "batch" && isOwn) left = [...entry.left.toReversed(), ...left];
    else if (entry.type === "batch-gone" && isOwn)
      left = left.filter(({ batchId }) => batchId !== entry.batchId);
  }
  const kept = [...state.entries, ...entries].slice(-MAX_ENTRIES);
  return { ...state, own, children, left, entries: kept, ...(lastRequest && { lastRequest }) };
}

function withRequest(totals: LiveTotals, request: RequestEntry): LiveTotals {
  return {
    requests: totals.requests + 1,
    failedRequests: totals.failedRequests + (request.error === undefined ? 0 : 1),
    inputTokens: totals.inputTokens + request.inputTokens,
    outputTokens: totals.outputTokens + request.outputTokens,
    reasoningTokens: totals.reasoningTokens + request.reasoningTokens,
    cacheReadTokens: totals.cacheReadTokens + request.cacheReadTokens,
    cacheWriteTokens: totals.cacheWriteTokens + request.cacheWriteTokens,
    costUSD: totals.costUSD + request.costUSD,
  };
}

/** The one Trusted Types policy that the page's content security policy lets anybody make. */
export const TRUSTED_TYPES_POLICY = "carryover-engine";
