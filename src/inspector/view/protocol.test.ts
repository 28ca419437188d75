import { describe, expect, it } from "vitest";
import type { Message } from "../../transcript/message.ts";
import {
  applyLiveEvent,
  cacheHitShare,
  type LiveEntry,
  type LiveState,
  liveStateOf,
  type OmittedItem,
} from "./protocol.ts";
import type { InspectedSession } from "./types.ts";

const message = (id: string): Message => ({ id, role: "user", parts: [{ type: "text", text: id }] });

const session: InspectedSession = Object.freeze({
  name: "OpenCode root",
  format: "opencode",
  sessionId: "root",
  windowTokens: 200_000,
  windowKnown: false,
  transcript: Object.freeze([message("a"), message("b"), message("c")]),
  redactedSecrets: 0,
  problems: [],
});

const request = (sessionId: string, more: Partial<LiveEntry> = {}): LiveEntry =>
  ({
    type: "request",
    atMs: 1,
    sessionId,
    messageId: "m",
    model: "p/m",
    inputTokens: 10,
    outputTokens: 5,
    reasoningTokens: 1,
    cacheReadTokens: 80,
    cacheWriteTokens: 10,
    costUSD: 0.5,
    ...more,
  }) as LiveEntry;

const left = (batchId: string, messageId: string): OmittedItem => ({
  batchId,
  atMs: 1,
  messageId,
  stage: "prune",
  reason: "pruned",
  savedTokens: 100,
  handle: messageId,
});

const heard = (...entries: readonly LiveEntry[]): LiveState =>
  applyLiveEvent(liveStateOf(session), { type: "journal", entries });

describe("applyLiveEvent", () => {
  it("puts changed and new messages in their places", () => {
    const changes = [1, 3].map((index) => ({ index, message: message(`new ${index}`) }));
    const state = applyLiveEvent(liveStateOf(session), { type: "messages", revision: 2, count: 4, changes });
    expect(state.session.transcript.map(({ id }) => id)).toEqual(["a", "new 1", "c", "new 3"]);
    expect(session.transcript.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it("drops messages that were taken back", () => {
    const state = applyLiveEvent(liveStateOf(session), {
      type: "messages",
      revision: 2,
      count: 1,
      changes: [],
    });
    expect(state.session.transcript.map(({ id }) => id)).toEqual(["a"]);
  });

  it("adds up what requests used, those of children apart", () => {
    const { own, children } = heard(
      request("root", { messageId: "first" }),
      request("root", { messageId: "second" }),
      request("root", { messageId: "failed", error: "APIError" }),
      request("root", { messageId: "summary", summary: true }),
      request("child"),
    );
    expect(own).toEqual({
      requests: 4,
      failedRequests: 1,
      inputTokens: 40,
      outputTokens: 20,
      cacheReadTokens: 320,
      cacheWriteTokens: 40,
      costUSD: 2,
    });
    expect(children.requests).toBe(1);
    expect(cacheHitShare(own)).toBe(0.8);
    expect(cacheHitShare(liveStateOf(session).own)).toBe(0);
  });

  it("knows what left and lets it back in when a batch is undone", () => {
    const edited = (state: LiveState, ...items: readonly OmittedItem[]): LiveState =>
      applyLiveEvent(state, { type: "batches", batches: [], left: items });
    const two = edited(liveStateOf(session), left("2", "c"), left("1", "a"));
    const heardAgain = applyLiveEvent(two, { type: "journal", entries: [], start: true });
    expect(heardAgain.left.map(({ messageId }) => messageId)).toEqual(["c", "a"]);
    expect(edited(two, left("2", "c")).left.map(({ messageId }) => messageId)).toEqual(["c"]);
  });

  it("begins again when it is told everything from the start", () => {
    const again = applyLiveEvent(heard(request("root")), {
      type: "journal",
      entries: [request("child")],
      start: true,
    });
    expect(again.own.requests).toBe(0);
    expect(again.entries).toHaveLength(1);
  });

  it("keeps the newest 200 things that happened, and counts all", () => {
    const entries = Array.from({ length: 250 }, (_, index) => request("root", { messageId: `${index}` }));
    const state = heard(...entries);
    expect(state.entries).toHaveLength(200);
    expect(state.entries.at(-1)).toMatchObject({ messageId: "249" });
    expect(state.own.requests).toBe(250);
  });

  it("takes what is known about the session and keeps its messages", () => {
    const { transcript, ...head } = session;
    const state = applyLiveEvent(liveStateOf(session), {
      type: "session",
      session: { ...head, title: "Named by now" },
      activity: "working",
      forks: [],
    });
    expect(state).toMatchObject({ activity: "working", session: { title: "Named by now" } });
    expect(state.session.transcript).toBe(transcript);
  });

  it("keeps the session as it is when only a fork or the activity is new", () => {
    const { transcript: _, ...head } = session;
    const state = applyLiveEvent(liveStateOf(session), {
      type: "session",
      session: { ...head },
      activity: "ended",
      forks: [],
    });
    expect(state.activity).toBe("ended");
    expect(state.session).toBe(session);
  });

  it("is the same state when nothing happened", () => {
    const state = liveStateOf(session);
    expect(applyLiveEvent(state, { type: "journal", entries: [] })).toBe(state);
  });
});
