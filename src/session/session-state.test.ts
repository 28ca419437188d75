import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { conversation, startSession } from "../../test/rig/session.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { SessionEvent } from "./events.ts";
import type { Session } from "./session.ts";

const words = (count: number): string =>
  Array.from({ length: count }, (_, index) => `w${index % 89}`).join(" ");
const turns = (count: number): Transcript =>
  Array.from({ length: count }, (_, turn): Message[] => [
    { id: `u${turn}`, role: "user", parts: [{ type: "text", text: `question ${turn}` }] },
    { id: `a${turn}`, role: "assistant", finish: "stop", parts: [{ type: "text", text: words(700) }] },
  ]).flat();
const long: Transcript = [
  ...turns(20),
  { id: "last", role: "user", parts: [{ type: "text", text: "and?" }] },
];

function open(options: EngineOptions = {}): { readonly session: Session; readonly events: SessionEvent[] } {
  const events: SessionEvent[] = [];
  const session = createSession(
    { clock: createFakeClock(), summarizer: { summarize: async () => "## Goal\nAnswer every question." } },
    {
      limits: { contextTokens: 20_000, outputTokens: 2_000 },
      compaction: { reserveTokens: 4_000 },
      onEvent: (event) => events.push(event),
      ...options,
    },
  );
  return { session, events };
}

describe("the state of a session", () => {
  it("gives the same window again, with the same messages, after a way through JSON", async () => {
    const { session } = open();
    session.observe(long);
    await session.prepare();
    const state: unknown = JSON.parse(JSON.stringify(session));
    const other = open().session;
    expect(await other.restore(long, state)).toEqual({ batches: 1, dropped: 0, unreadable: 0 });
    expect(other.messages()).toEqual(session.messages());
    expect(other.edits()).toEqual(session.edits());
  });

  it("is dropped where its messages are gone", async () => {
    const { session } = open();
    session.observe(long);
    await session.prepare();
    const other = open();
    expect(await other.session.restore(long.slice(30), session.toJSON())).toMatchObject({ dropped: 1 });
    expect(other.session.messages()).toEqual(long.slice(30));
  });

  it.each([
    ["nothing", undefined, 0],
    ["another version", { v: 4, batches: [] }, 1],
    ["a text", "{}", 1],
    ["batches of no known shape", { v: 1, batches: [{ id: "x" }, null, 7] }, 3],
  ])("is a warning where it cannot be read: %s", async (_, state, unreadable) => {
    const { session, events } = open();
    expect(await session.restore(long, state)).toEqual({ batches: 0, dropped: 0, unreadable });
    expect(events.some((event) => event.type === "warning" && event.code === "journal-damaged")).toBe(
      unreadable > 0,
    );
  });
});

describe("an answer with nothing in it", () => {
  const usage = (inputTokens: number) => ({
    inputTokens,
    outputTokens: 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  });

  it("that fills the window is dealt with like a refusal", async () => {
    const { session } = open({ limits: { contextTokens: 64_000, outputTokens: 2_000 } });
    session.observe(long);
    expect(session.nextAction()).toMatchObject({ type: "none" });
    expect(session.onEmptyAnswer({ usage: usage(64_000), finish: "length" })).toBe("overflow");
    expect(session.nextAction().type).toBe("recover");
    expect(await session.prepare()).toMatchObject({ type: "retry" });
  });

  it("that has nothing to do with the window is left alone", () => {
    const { session } = open({ limits: { contextTokens: 64_000, outputTokens: 2_000 } });
    session.observe(long);
    expect(session.onEmptyAnswer({ usage: usage(20_000), finish: "stop" })).toBe("empty");
    expect(session.onEmptyAnswer({})).toBe("empty");
    expect(session.nextAction()).toMatchObject({ type: "none" });
  });
});

describe("what is sent beside the messages", () => {
  it("counts, until a usage has it already", () => {
    const { session } = open();
    session.observe(long.slice(0, 2));
    const before = session.status().tokens;
    session.setOverhead({ toolsChars: 20_000 });
    expect(session.status().tokens - before).toBeGreaterThan(4_000);
    session.setOverhead({});
    expect(session.status().tokens).toBe(before);
  });

  it("of a refusal says nothing of another conversation", async () => {
    const { session } = startSession();
    session.observe(conversation(20));
    session.onProviderError(new Error("prompt is too long: 42000 tokens > 40000 maximum"));
    const state = JSON.parse(JSON.stringify(session.toJSON()));
    const other = startSession().session;
    await other.restore([{ id: "hello", role: "user", parts: [{ type: "text", text: "Hi." }] }], state);
    expect(await other.prepare()).toMatchObject({ type: "none", fits: true });
  });

  it("does nothing that it cannot: what is no number, step or scale is left out", async () => {
    const { session } = startSession();
    session.observe(conversation(20));
    session.onProviderError(new Error("prompt is too long: 42000 tokens > 40000 maximum"));
    const state = JSON.parse(JSON.stringify(session.toJSON()));
    const { recovery, measure } = state.rest.fields;
    for (const fields of [
      { recovery: { ...recovery, tried: ["x"], limitTokens: -1 } },
      { measure: { ...measure, scale: { scale: 1e308, spread: 0, observations: 1, epoch: 0, model: "m" } } },
    ]) {
      const again = startSession().session;
      const rest = { ...state.rest, fields: { ...state.rest.fields, ...fields } };
      await again.restore(conversation(20), { ...state, rest });
      expect(Number.isFinite(again.status().tokens)).toBe(true);
      expect((await again.prepare()).type).not.toBe("none");
    }
  });

  it("counts after what was said of the session before it was restored", async () => {
    const { session } = startSession({ systemChars: 100, toolsChars: 8_000 });
    session.observe(conversation(4));
    session.setManagement({ acts: "compacts" });
    const state = JSON.parse(JSON.stringify(session.toJSON()));
    const again = startSession().session;
    again.setManagement({});
    again.setOverhead({ systemChars: 100, toolsChars: 8_000 });
    await again.restore(conversation(4), state);
    expect(again.status().tokens).toBe(session.status().tokens);
    expect(again.toJSON().rest?.fields.management).toBeUndefined();
  });
});
