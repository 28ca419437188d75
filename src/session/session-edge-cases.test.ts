import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../test/rig/engine-session.ts";
import { answer, conversation, startSession, step, user, words } from "../../test/rig/session.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../compaction/trigger/compaction-settings.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import type { OutputStore } from "../tool-output/output-store.ts";
import type { Message } from "../transcript/message.ts";
import type { Session } from "./session.ts";

const MODEL = { provider: "anthropic", id: "claude-sonnet-4-5" };

const setUp = (...given: Parameters<typeof startSession>): Session => startSession(...given).session;

const NO_USAGE = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};
const OVERFLOW = new Error("prompt is too long: 50000 tokens > 40000 maximum");

describe("a session at its edges", () => {
  it("reads all settings, the window, the limit, its source and the tokens", () => {
    const limits = { contextTokens: 200_000, outputTokens: 8_000 };
    const session = setUp({ limits, compaction: DEFAULT_COMPACTION_SETTINGS });
    session.append(user("u1", "hello"));
    const status = session.status();
    expect(status).toMatchObject({
      settings: DEFAULT_COMPACTION_SETTINGS,
      contextWindowTokens: 200_000,
      limitTokens: 183_616,
      source: "context_window",
      tokens: status.estimate.tokens,
    });
    expect(status.tokens).toBeGreaterThan(0);
  });

  it("does a compaction that a person asked for, also when outputs have to be trimmed first", async () => {
    const session = setUp();
    session.observe([...conversation(8), step("big", "line\n".repeat(40_000))]);
    const last = await session.prepare({ demand: "manual" });
    expect(session.status().batches.map(({ step }) => step)).toEqual(["trim-outputs", "compact"]);
    expect(last.type).toBe("none");
  });

  it("compacts when it is full, however little a person gained by hand a turn before", async () => {
    const { session, events } = startSession();
    session.observe(conversation(3));
    await session.prepare({ demand: "manual" });
    expect(session.status().batches).toMatchObject([{ step: "compact" }]);
    session.observe([...conversation(3), answer("long", words(40_000)), user("last", "and now?")]);
    expect(session.nextAction()).toMatchObject({ type: "compact", trigger: "threshold" });
    expect(events).not.toContainEqual(expect.objectContaining({ code: "compaction-gained-little" }));
  });

  it("can be compacted by hand after a refusal with automatic compaction off, as its advice says", async () => {
    const session = setUp({ compactAt: "never" });
    session.observe([...conversation(30), user("last", "and now?")]);
    session.onProviderError(OVERFLOW);
    expect(session.nextAction()).toMatchObject({ type: "give-up", reason: "auto-off" });
    await session.prepare({ demand: "manual" });
    expect(session.status().batches).toMatchObject([{ step: "compact" }]);
    expect(session.nextAction().type).not.toBe("give-up");
  });

  it("recovers once automatic compaction is switched on after a refusal, as its advice says", async () => {
    const session = setUp({ compactAt: "never" });
    session.observe([...conversation(30), user("last", "and now?")]);
    session.onProviderError(OVERFLOW);
    session.change({ type: "set-auto", autoCompact: true });
    expect(await session.prepare()).toEqual({ type: "none", reason: "under-limit", fits: true });
  });

  it("asks a model with a larger window after it has given up on a smaller one, as its advice says", async () => {
    const session = setUp({ compactAt: "never" });
    session.observe([...conversation(30), user("last", "and now?")]);
    session.onProviderError(OVERFLOW);
    session.useModel(MODEL, { contextTokens: 1_000_000, outputTokens: 8_000 });
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
  });

  it("tries to compact again when a window that could not be made smaller has fitted in between", async () => {
    const session = setUp();
    session.observe([user("huge", words(60_000))]);
    for (let turn = 0; turn < 12; turn++) {
      await session.prepare();
      session.append(answer(`x${turn}`, "?"));
    }
    expect(session.nextAction()).toMatchObject({ type: "none", reason: "nothing-to-gain", fits: false });
    session.observe(conversation(4));
    expect(session.nextAction().type).toBe("none");
    session.observe(conversation(30));
    expect(session.nextAction()).toMatchObject({ type: "compact" });
  });

  it("takes an idle time that is no number for none", async () => {
    const idleMs = Number.NaN;
    const session = setUp({ limits: { contextTokens: 200_000, outputTokens: 4_000 }, toolOutput: "off" });
    session.observe([user("u", "go"), ...Array.from({ length: 30 }, (_, n) => step(`s${n}`, words(1_000)))]);
    const known = session.nextAction({ moment: "after-turn" });
    expect(session.nextAction({ moment: "after-turn", idleMs })).toEqual(known);
    expect((await session.prepare({ moment: "after-turn", idleMs })).type).toBe("none");
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    "does not count %s characters beside the messages",
    (chars) => {
      const session = setUp();
      session.observe(conversation(3));
      const before = session.status().tokens;
      session.setOverhead({ systemChars: chars, toolsChars: chars });
      expect(session.status().tokens).toBe(before);
    },
  );

  it("takes back the newest edits after a restart in the same millisecond", async () => {
    const journal = createMemoryJournal();
    const frozen = { now: () => 1_000, sleep: () => new Promise<void>(() => {}) };
    const first = setUp({}, { clock: frozen, journal });
    first.observe([user("u", "go"), step("one", "line\n".repeat(40_000))]);
    await first.prepare();
    const second = setUp({}, { clock: frozen, journal });
    const all = [user("u", "go"), step("one", "line\n".repeat(40_000)), step("two", "line\n".repeat(40_000))];
    await second.restore(all);
    await second.prepare();
    const [older, newer] = second.status().batches;
    expect(newer?.id).not.toBe(older?.id);
    await second.undo();
    expect(second.status().batches).toEqual([older]);
    const third = setUp({}, { clock: frozen, journal });
    await third.restore(all);
    expect(third.status().batches).toEqual([older]);
  });

  it("never sums up a pinned result, and says nothing in its place", async () => {
    const steps = Array.from({ length: 8 }, (_, number) => step(`s${number}`, `output ${number}`));
    const session = setUp({
      compaction: { toolCallCutoff: 2, toolSummaryStrategy: "heuristic" },
      pins: [...steps.slice(0, 3).map(({ id }) => ({ handle: `${id}/0` })), { text: "output 3" }],
    });
    session.observe([user("u", "go"), ...steps, answer("a", "so far")]);
    for (let turn = 0; turn < 4; turn++) {
      await session.prepare();
      session.append(answer(`more${turn}`, "more"));
    }
    const shown = JSON.stringify(session.messages());
    for (const number of [0, 1, 2, 3]) expect(shown).toContain(`"output":"output ${number}"`);
    const summaries = session.messages().filter(({ metadata }) => metadata?.kind === "tool_summary");
    expect(JSON.stringify(summaries)).not.toMatch(/output [0-3]/);
    expect(session.status().batches).toHaveLength(1);
  });

  it("does not trim an output with what it said before its owner changed it", async () => {
    const outputs: OutputStore = {
      put: async (content) => {
        session.append(step("big", "short after all"));
        return { status: "stored", handle: "h", sha256: "h", bytes: content.length };
      },
      get: async () => undefined,
    };
    const session: Session = setUp({}, { outputs });
    session.observe([user("u", "go"), step("big", "line\n".repeat(40_000))]);
    await session.prepare();
    expect(JSON.stringify(session.messages())).toContain("short after all");
  });

  it("learns from a loaded conversation what it would have learned message by message", () => {
    const limits = { contextTokens: 900_000, outputTokens: 4_000 };
    const turns = conversation(40).map((message, index): Message => {
      if (message.role !== "assistant") return message;
      // The last count holds something that nobody sees.
      const inputTokens = 1_000 * (index + 1) + (index === 79 ? 4_000 : 0);
      return { ...message, model: MODEL, usage: { ...NO_USAGE, inputTokens } };
    });
    const [loaded, grown] = [setUp({ limits, model: MODEL }), setUp({ limits, model: MODEL })];
    loaded.observe(turns);
    for (const message of turns) grown.append(message);
    // Only what was learned tells them apart: what was counted is about another model now.
    for (const session of [loaded, grown]) session.useModel(MODEL, limits);
    expect(loaded.status().tokens).toBe(grown.status().tokens);
  });

  it("survives a state that was written by somebody else", async () => {
    const session = setUp();
    const batch = { id: "b", step: "prune", reason: "pays", at: 1 };
    const edit = { stage: "x", reason: "y", messageId: "a0", partIndex: 0 };
    const states = [
      { type: "replace-part", part: { type: "tool" }, ...edit },
      { type: "replace-part", part: { type: "text" }, ...edit },
      { type: "replace-part", part: { type: "tool", callId: "c", tool: "t", outcome: {} }, ...edit },
      { type: "hide-part", ...edit, partIndex: -1 },
      {
        type: "insert-message",
        stage: "x",
        reason: "y",
        after: null,
        message: { id: "n", role: "tool", parts: [] },
      },
    ].map((each) => ({ v: 1, batches: [{ ...batch, edits: [each] }] }));
    for (const state of states) {
      await session.restore(conversation(2), state);
      expect(session.messages().length).toBeGreaterThan(0);
      expect((await session.prepare()).type).toBe("none");
    }
  });

  it.each([
    { range: null, says: { status: "found" } },
    { range: "x", says: { status: "missing", hint: 'range is "x"; give an object' } },
    { range: { fromLine: -3 }, says: { hint: "range.fromLine is -3; give a number of 1 or more" } },
    {
      range: { fromLin: 2 },
      says: {
        status: "missing",
        hint: "range.fromLine is missing; give a number of 1 or more; range.fromLin is not an option; did you mean fromLine?",
      },
    },
    {
      range: { fromChar: 2, toLine: 3 },
      says: { hint: "range.toLine is not an option; known are fromChar, toChar" },
    },
  ])("never throws for a recall with the range $range, and says what to give", async ({ range, says }) => {
    const session = setUp();
    session.observe(conversation(2));
    expect(await session.recall("a0/0", range as never)).toMatchObject(says);
  });

  it("leaves out what is no part of a message", async () => {
    const session = setUp();
    session.append({
      id: "odd",
      role: "user",
      parts: [null, undefined, { type: "text", text: "hello" }] as never,
    });
    session.append({
      id: "odder",
      role: "assistant",
      parts: [{ type: "tool", callId: "c", tool: "t" }] as never,
    });
    expect((await session.prepare()).type).toBe("none");
    expect(JSON.stringify(session.messages())).toContain("hello");
  });
});

describe("options of a session", () => {
  it.each<[string, unknown]>([
    ["limits", { contextTokens: Number.NaN, outputTokens: 1 }],
    ["limits", { contextTokens: "200000", outputTokens: 1 }],
    ["limits", 200_000],
    ["autoContinue", "sometimes"],
    ["estimator", "exactly"],
    ["redaction", "on"],
    ["pins", "AGENTS.md"],
    ["pins", [{ file: "AGENTS.md" }]],
    ["keepTokens", "2k"],
    ["summarizer", { windowTokens: -1 }],
    ["onEvent", "log"],
    ["model", "claude"],
  ])("says what is wrong with %s: %j", (name, value) => {
    expect(() => setUp({ [name]: value } as EngineOptions)).toThrow(new RegExp(`\\b${name}\\b`));
  });

  it("says all that is wrong at once", () => {
    const wrong = { keepTokens: "digest", autoContinue: "on", pins: 3 } as unknown as EngineOptions;
    for (const name of ["keepTokens", "autoContinue", "pins"]) {
      expect(() => setUp(wrong)).toThrow(new RegExp(`\\b${name} is `));
    }
  });
});
