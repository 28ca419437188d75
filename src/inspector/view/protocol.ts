import type { RequestEntry } from "../../plugin/host/host-parts.ts";
import type { EditBatch } from "../../session/history.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { InspectedSession } from "./types.ts";

/** The state after an event; the same reference when the event changes nothing. */
export function applyLiveEvent(state: LiveState, event: LiveEvent): LiveState {
  switch (event.type) {
    case "messages":
      return { ...state, session: { ...state.session, transcript: changedTranscript(state, event) } };
    case "batches":
      return { ...state, session: { ...state.session, batches: event.batches }, left: event.left };
    case "journal":
      return withEntries(event.start ? { ...state, ...NOTHING_HAPPENED } : state, event.entries);
    case "session": {
      const { activity, forks } = event;
      return { ...state, session: withHead(state.session, event.session), activity, forks };
    }
    default:
      event satisfies never;
      return state;
  }
}

/** The state before the first event. */
export function liveStateOf(session: InspectedSession): LiveState {
  return { session, activity: "quiet", left: [], forks: [], ...NOTHING_HAPPENED };
}

/** What the page knows of a running session. */
export interface LiveState extends Happenings {
  readonly session: InspectedSession;
  readonly activity: LiveActivity;
  /** What the edits in force leave out, newest first. */
  readonly left: readonly OmittedItem[];
  /** Newest first. */
  readonly forks: readonly LiveFork[];
}

/** `working`: something was written in the last seconds. `quiet`: nothing was, but OpenCode runs. `ended`: no OpenCode with the plugin runs. */
export type LiveActivity = "working" | "quiet" | "ended";

interface Happenings {
  /** Sums over the session's own requests, and over those of its children. */
  readonly own: LiveTotals;
  readonly children: LiveTotals;
  /** The newest journal entries, oldest first. */
  readonly entries: readonly LiveEntry[];
}

/** Sums over requests. */
export interface LiveTotals {
  readonly requests: number;
  readonly failedRequests: number;
  /** Neither read from the cache nor written to it. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly costUSD: number;
}

/** The share of the sent tokens that the provider read from its cache, from 0 to 1. */
export function cacheHitShare({ inputTokens, cacheReadTokens, cacheWriteTokens }: SentTokens): number {
  const sentTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  return sentTokens === 0 ? 0 : cacheReadTokens / sentTokens;
}

type SentTokens = Pick<LiveTotals, "inputTokens" | "cacheReadTokens" | "cacheWriteTokens">;

/** Something that an edit leaves out, and why. */
export interface OmittedItem {
  readonly batchId: string;
  readonly atMs: number;
  readonly messageId: string;
  readonly stage: string;
  readonly reason: string;
  readonly savedTokens: number;
  /** Where it can be recalled. */
  readonly handle: string;
}

/** A fork and its state. */
export interface LiveFork {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly isLive: boolean;
  readonly inherit: string;
  readonly calls: number;
  readonly tokens: number;
  readonly costUSD: number;
  readonly error?: string;
}

/** An entry of the plugin's journal. */
export type LiveEntry = { readonly atMs: number; readonly sessionId: string } & (
  | RequestEntry
  /** An output that was trimmed when it arrived. */
  | {
      readonly type: "tool-output";
      readonly tool: string;
      readonly shownChars: number;
      readonly totalChars: number;
    }
  | LiveBatch
  /** A batch that was undone, or that can no longer be applied. */
  | { readonly type: "batch-gone"; readonly batchId: string; readonly why: "undo" | "drop" }
  | {
      readonly type: "fork";
      readonly fork: string;
      readonly number: number;
      readonly state: string;
      readonly because: string;
    }
  | { readonly type: "note"; readonly text: string }
);

/** Edits that were made together. */
export interface LiveBatch {
  readonly type: "batch";
  readonly batchId: string;
  readonly step: string;
  readonly reason: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** What the server sends while it follows a session. */
export type LiveEvent = MessagesEvent | BatchesEvent | JournalEvent | SessionHeadEvent;

/** Messages that are new or have changed. */
export interface MessagesEvent {
  readonly type: "messages";
  /** Increases with every change. A stream opened with the newest known revision repeats nothing. */
  readonly revision: number;
  /** How many messages there are now; those beyond are gone. */
  readonly count: number;
  readonly changes: readonly MessageChange[];
}

export interface MessageChange {
  readonly index: number;
  readonly message: Message;
}

/** The edits in force; they replace those of the event before. */
interface BatchesEvent {
  readonly type: "batches";
  readonly batches: readonly EditBatch[];
  /** What they leave out, the newest first. */
  readonly left: readonly OmittedItem[];
}

/** Journal entries, oldest first. */
interface JournalEvent {
  readonly type: "journal";
  readonly entries: readonly LiveEntry[];
  /** The journal from its start; entries that were sent before are void. */
  readonly start?: true;
}

/** The session's head, activity and forks. */
interface SessionHeadEvent {
  readonly type: "session";
  readonly session: SessionHead;
  readonly activity: LiveActivity;
  readonly forks: readonly LiveFork[];
}

/** A session without its messages and their edits. */
export type SessionHead = Omit<InspectedSession, "transcript" | "batches">;

/** The answer of `/api/session`. */
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
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUSD: 0,
};

const NOTHING_HAPPENED: Happenings = { own: NO_REQUESTS, children: NO_REQUESTS, entries: [] };

/** How many entries are kept; sums include all. */
const MAX_ENTRIES = 200;

function changedTranscript({ session }: LiveState, { count, changes }: MessagesEvent): Transcript {
  const messages = session.transcript.slice(0, count);
  for (const { index, message } of changes) if (index < count) messages[index] = message;
  return messages;
}

/** The same reference when the head is unchanged, so that nothing is measured again. */
function withHead(session: InspectedSession, head: SessionHead): InspectedSession {
  const { transcript, batches, ...before } = session;
  if (JSON.stringify(before) === JSON.stringify(head)) return session;
  return { ...head, transcript, ...(batches && { batches }) };
}

function withEntries(state: LiveState, entries: readonly LiveEntry[]): LiveState {
  if (entries.length === 0) return state;
  let { own, children } = state;
  const { sessionId } = state.session;
  for (const entry of entries) {
    const isOwn = entry.sessionId === sessionId;
    if (entry.type === "request" && isOwn) own = withRequest(own, entry);
    else if (entry.type === "request") children = withRequest(children, entry);
  }
  const kept = [...state.entries, ...entries].slice(-MAX_ENTRIES);
  return { ...state, own, children, entries: kept };
}

function withRequest(totals: LiveTotals, request: RequestEntry): LiveTotals {
  return {
    requests: totals.requests + 1,
    failedRequests: totals.failedRequests + (request.error === undefined ? 0 : 1),
    inputTokens: totals.inputTokens + request.inputTokens,
    outputTokens: totals.outputTokens + request.outputTokens,
    cacheReadTokens: totals.cacheReadTokens + request.cacheReadTokens,
    cacheWriteTokens: totals.cacheWriteTokens + request.cacheWriteTokens,
    costUSD: totals.costUSD + request.costUSD,
  };
}

/** The one Trusted Types policy that the page's content security policy allows. */
export const TRUSTED_TYPES_POLICY = "carryover-engine";

/** The id of the script element with the session in a single-file page. */
export const DATA_BLOCK_ID = "carryover-data";
