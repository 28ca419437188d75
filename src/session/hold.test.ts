import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createFakeClock,
  createFakeSummarizer,
  type FakeAnswer,
  startsAndEnds,
} from "../../test/rig/fakes.ts";
import { runs } from "../../test/rig/runs.ts";
import { answer, conversation, SUMMARY, user, words } from "../../test/rig/session.ts";
import type { SessionHook } from "../compaction/ask-hooks.ts";
import type { SessionEvent } from "./events.ts";
import { holdAfter, isHeld } from "./hold.ts";
import type { SessionOptions } from "./options.ts";
import { createSession, type Session } from "./session.ts";

const UNAVAILABLE = Object.assign(new Error("503 Service Unavailable"), { status: 503 });
const WINDOW = { limits: { contextTokens: 31_488, outputTokens: 4_000 } };
/** The window without the quarter of its reserve that an answer needs. */
const FITS_TOKENS = 31_488 - 31_488 / 16;

function start(answers: readonly FakeAnswer[], options: SessionOptions = WINDOW, hooks: SessionHook[] = []) {
  const events: SessionEvent[] = [];
  const summarizer = createFakeSummarizer(...answers);
  const session = createSession(
    { clock: createFakeClock(), summarizer, hooks },
    { ...options, onEvent: startsAndEnds(events) },
  );
  const told = (type: SessionEvent["type"]) => events.filter((event) => event.type === type);
  return { session, summarizer, told, events };
}

/** One more turn of about so many tokens. */
function turn(session: Session, name: string, tokens = 100): void {
  session.append(user(`u${name}`, `request ${name}`));
  session.append(answer(`a${name}`, words(tokens)));
}

const compactions = (session: Session) => session.ledger().filter(({ step }) => step === "compact");

describe("after a failed summary", () => {
  it("the window stays in force while it fits, and the failure is told", async () => {
    const { session, events, summarizer } = start([UNAVAILABLE]);
    session.observe(conversation(24));
    const before = structuredClone(session.messages());
    expect(await session.prepare()).toMatchObject({ type: "none", reason: "summary-failed", fits: false });
    expect(session.messages()).toEqual(before);
    expect(session.edits()).toEqual([]);
    const { tokens: tokensBefore } = session.status();
    const about = { trigger: "threshold", auto: true, before: 48, tokensBefore };
    expect(events).toEqual([
      { type: "compaction_start", ...about },
      {
        type: "compaction.failed",
        ...about,
        reason: "error",
        detail: "Error: 503 Service Unavailable",
        calls: 2,
        window: "kept",
      },
      { type: "compaction_end", ...about, after: 48, tokensAfter: tokensBefore, error: "summary-failed" },
    ]);
    expect(summarizer.calls).toHaveLength(2);
    expect(compactions(session)).toMatchObject([{ outcome: "failed", note: "summary-failed" }]);
  });

  it("the model is asked again after 3 turns, then after 6, and its summary is used", async () => {
    const failures = Array.from({ length: 4 }, () => UNAVAILABLE);
    const { session, summarizer } = start([...failures, SUMMARY]);
    session.observe(conversation(24));
    const callsByTurn: number[] = [];
    for (let number = 0; number < 12; number++) {
      await session.prepare();
      callsByTurn.push(summarizer.calls.length);
      turn(session, `n${number}`, 10);
    }
    expect(callsByTurn).toEqual([2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 5]);
    expect(compactions(session).map(({ outcome }) => outcome)).toEqual(["failed", "failed", "applied"]);
  });

  it("it is folded without the model as soon as it does not fit", async () => {
    const { session, told } = start([UNAVAILABLE]);
    session.observe(conversation(24));
    for (let number = 0; session.status().batches.length === 0; number++) {
      await session.prepare();
      if (session.status().batches.length === 0)
        expect(session.status().tokens).toBeLessThanOrEqual(FITS_TOKENS);
      turn(session, `n${number}`, 1_000);
    }
    expect(compactions(session).at(-1)).toMatchObject({ outcome: "applied", degraded: true });
    expect(compactions(session).at(-1)?.tokensBefore).toBeGreaterThan(FITS_TOKENS);
    expect(told("compaction.failed").at(-1)).toMatchObject({ reason: "error", window: "local-summary" });
    expect(told("compaction_end").at(-1)).toMatchObject({ degraded: "error" });
  });

  it("it is folded at once when the provider has refused it", async () => {
    const { session } = start([UNAVAILABLE]);
    session.observe(conversation(24));
    session.onProviderError(new Error("prompt is too long: 41000 tokens > 40000 maximum"));
    expect(await session.prepare()).toMatchObject({ type: "retry" });
    expect(session.status().tokens).toBeLessThan(24_000);
  });

  it("a window whose size nobody knows fits until the provider says otherwise", async () => {
    const { session, summarizer } = start([UNAVAILABLE], {});
    session.observe(conversation(24));
    for (let number = 0; number < 40; number++) {
      expect(await session.prepare()).toMatchObject({ type: "none", reason: "summary-failed" });
      turn(session, `n${number}`);
    }
    expect(session.edits()).toEqual([]);
    expect(summarizer.calls.length).toBeLessThanOrEqual(2 * 5);
  });

  it("a person may ask again at once, and is told that it failed", async () => {
    const { session, told } = start([UNAVAILABLE, UNAVAILABLE, SUMMARY]);
    session.observe(conversation(8));
    await session.prepare({ demand: "manual" });
    expect(told("compaction.failed")).toMatchObject([{ trigger: "manual", auto: false, window: "kept" }]);
    await session.prepare({ demand: "manual" });
    expect(compactions(session).map(({ outcome }) => outcome)).toEqual(["failed", "applied"]);
  });

  it("a person who asks is told whether it is done, failed, or has nothing to do", async () => {
    const { session } = start([UNAVAILABLE, UNAVAILABLE, SUMMARY]);
    const ask = () => session.prepare({ demand: "manual" });
    expect(await ask()).toEqual({ type: "none", reason: "no-messages", fits: true });
    session.observe(conversation(1));
    expect(await ask()).toEqual({ type: "none", reason: "manual", fits: true });
    expect(await ask()).toEqual({ type: "none", reason: "manual", fits: true });
    session.observe(conversation(8));
    expect(await ask()).toEqual({ type: "none", reason: "summary-failed", fits: true });
    expect(await session.prepare()).toEqual({ type: "none", reason: "under-limit", fits: true });
    expect(await ask()).toEqual({ type: "none", reason: "under-limit", fits: true });
    expect(session.status().batches).toMatchObject([{ step: "compact" }]);
  });

  it("a session without a summarizer folds, and nothing has failed", async () => {
    const events: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void events.push(event);
    const session = createSession({ clock: createFakeClock() }, { ...WINDOW, onEvent });
    session.observe(conversation(24));
    await session.prepare();
    expect(compactions(session)).toMatchObject([{ outcome: "applied" }]);
    expect(events.some(({ type }) => type === "compaction.failed")).toBe(false);
  });

  it("is folded only when it does not fit, in any window and with turns of any size", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 4_000, max: 200_000 }),
        fc.array(fc.double({ min: 0.001, max: 0.2, noNaN: true }), { minLength: 5, maxLength: 40 }),
        async (contextTokens, shares) => {
          const { session } = start([UNAVAILABLE], { limits: { contextTokens, outputTokens: 0 } });
          for (const [number, share] of shares.entries()) {
            turn(session, `${number}`, Math.floor(contextTokens * share));
            const folds = session.status().batches.length;
            const { tokens, limitTokens = contextTokens } = session.status();
            await session.prepare();
            if (session.status().batches.length > folds)
              expect(tokens).toBeGreaterThan(contextTokens - (contextTokens - limitTokens) / 4);
          }
        },
      ),
      { numRuns: runs(60) },
    );
  }, 120_000);
});

describe("after a veto", () => {
  const veto = () => {
    let asked = 0;
    const hook: SessionHook = { name: "no", compacting: () => ({ veto: ++asked > 0 }) };
    return { hook, count: () => asked };
  };

  it("hooks are asked again once, when the window no longer fits, and never after that", async () => {
    const { hook, count } = veto();
    const { session, told, summarizer } = start([SUMMARY], WINDOW, [hook]);
    session.observe(conversation(24));
    const asked: number[] = [];
    for (let number = 0; number < 100; number++) {
      expect(await session.prepare()).toMatchObject({ type: "none", reason: "vetoed" });
      asked.push(count());
      turn(session, `n${number}`, 500);
    }
    expect(asked.slice(0, 8)).toEqual(asked.slice(0, 8).map(() => 1));
    expect(count()).toBe(2);
    expect(session.edits()).toEqual([]);
    expect(summarizer.calls).toHaveLength(0);
    expect(told("compaction.failed")).toEqual([]);
    expect(told("compaction_end")).toMatchObject([{ error: "vetoed" }, { error: "vetoed" }]);
  });

  it.each<{ name: string; change: (session: Session) => unknown }>([
    { name: "a person asks", change: (session) => session.prepare({ demand: "manual" }) },
    {
      name: "the model changes",
      change: (session) => session.useModel({ provider: "p", id: "m" }, WINDOW.limits),
    },
    {
      name: "automatic compaction is switched on again",
      change: (session) => session.change({ type: "set-auto", autoCompact: true }),
    },
    { name: "the window was emptied and is full again", change: (session) => emptyAndFill(session) },
  ])("they are asked again when $name", async ({ change }) => {
    const { hook, count } = veto();
    const { session } = start([SUMMARY], WINDOW, [hook]);
    session.observe(conversation(24));
    await session.prepare();
    await session.prepare();
    expect(count()).toBe(1);
    await change(session);
    await session.prepare();
    expect(count()).toBe(2);
  });

  function emptyAndFill(session: Session): void {
    session.observe(conversation(2));
    session.observe(conversation(24));
  }

  it("a refused request is made smaller all the same", async () => {
    const { hook } = veto();
    const { session } = start([SUMMARY], WINDOW, [hook]);
    session.observe(conversation(24));
    await session.prepare();
    session.onProviderError(new Error("prompt is too long: 41000 tokens > 40000 maximum"));
    expect(await session.prepare()).toMatchObject({ type: "retry" });
  });
});

describe("what is held", () => {
  const fits = { turn: 10, fits: true };
  const full = { turn: 10, fits: false };

  it("after a failed summary waits 3, 6, 12, 24 and from then on 48 turns while it fits", () => {
    let held = holdAfter("summary-failed", { before: undefined, ...fits });
    const waits: number[] = [];
    for (let count = 0; count < 6; count++) {
      waits.push(held?.reason === "summary-failed" ? held.throughTurn - 10 : -1);
      held = holdAfter("summary-failed", { before: held, ...fits });
    }
    expect(waits).toEqual([3, 6, 12, 24, 48, 48]);
    const first = holdAfter("summary-failed", { before: undefined, ...fits });
    expect(isHeld(first, { turn: 13, fits: true })).toBe(true);
    expect(isHeld(first, { turn: 14, fits: true })).toBe(false);
    expect(isHeld(first, { turn: 11, fits: false })).toBe(false);
  });

  it("after a veto waits until it no longer fits, or for good", () => {
    expect(isHeld(holdAfter("vetoed", { before: undefined, ...fits }), fits)).toBe(true);
    expect(isHeld(holdAfter("vetoed", { before: undefined, ...fits }), full)).toBe(false);
    expect(isHeld(holdAfter("vetoed", { before: undefined, ...full }), full)).toBe(true);
  });

  it("is nothing after anything else", () => {
    expect(holdAfter("no-gain", { before: undefined, ...fits })).toBeUndefined();
    expect(isHeld(undefined, full)).toBe(false);
  });
});
