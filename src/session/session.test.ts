import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { answer, startSession, step, user, words } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import { createMemoryOutputStore } from "../stores/memory/output-store.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message, Transcript, Usage } from "../transcript/message.ts";
import { CLEARED_PLACEHOLDER } from "../transcript/part.ts";
import type { SessionPorts } from "./options.ts";

const SUMMARY = "## Goal\nKeep the parser small.\n## Progress\nThe reader was written and tested.";

function setUp(options: EngineOptions = {}, ports: Partial<SessionPorts> = {}) {
  const summarizer = createFakeSummarizer(SUMMARY);
  const journal = createMemoryJournal();
  const all = { summarizer, journal, outputs: createMemoryOutputStore(), ...ports };
  return { ...startSession(options, all), summarizer, journal };
}

const WINDOW = { contextTokens: 40_000, outputTokens: 4_000 };

const usage = (totalTokens: number): Usage => ({
  inputTokens: totalTokens - 10,
  outputTokens: 10,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  totalTokens,
});

/** A conversation of some requests with a long answer each. */
function conversation(turns: number, wordsEach = 1_000): Transcript {
  return Array.from({ length: turns }, (_, turn) => [
    user(`u${turn}`, `request ${turn}: ${words(20, "please")}`),
    answer(`a${turn}`, `answer ${turn}: ${words(wordsEach)}`),
  ]).flat();
}

const texts = (messages: Transcript): string =>
  messages.flatMap(({ parts }) => parts.map((part) => JSON.stringify(part))).join("\n");

describe("createSession", () => {
  it("has nothing to do while the window has room", () => {
    const { session } = setUp();
    for (const message of transcript("u:50 a:50(bash:90) u:50")) session.append(message);
    expect(session.nextAction()).toEqual({ type: "none", reason: "under-limit", fits: true });
    expect(session.messages()).toHaveLength(3);
  });

  it("lists every problem of its options at once", () => {
    const options = { keepTokens: -1, systemChars: "none", unheardOf: 1 } as unknown as EngineOptions;
    expect(() => setUp(options)).toThrow(/keepTokens.*systemChars.*unheardOf/s);
  });

  it("gives the same action for the same state, and changes nothing by asking", () => {
    const { session, events } = setUp();
    session.observe(deepFreeze(conversation(30)));
    const first = session.nextAction();
    expect(session.nextAction()).toEqual(first);
    expect(session.status().epoch).toBe(0);
    expect(events).toEqual([]);
  });

  it("trims an output that came in before the model sees it, and saves the whole of it", async () => {
    const { session, journal } = setUp();
    const output = Array.from({ length: 5_000 }, (_, line) => `line ${line}`).join("\n");
    session.append(user("u1", "list them"));
    session.append(step("a1", output));
    const action = session.nextAction();
    expect(action).toMatchObject({ type: "trim-outputs", handles: ["a1/0"] });
    expect(await session.run(action)).toMatchObject({ status: "applied" });
    const shown = texts(session.messages());
    expect(shown.length).toBeLessThan(output.length);
    expect(shown).toContain("line 0");
    expect(shown).toContain("line 4999");
    expect(session.nextAction()).toMatchObject({ type: "none" });
    const { entries } = await journal.read();
    const record = entries[0]?.value as {
      edits: { omitted: { handle: string } }[];
      tokensBefore: number;
      tokensAfter: number;
    };
    expect(record).toMatchObject({ type: "delta", step: "trim-outputs" });
    expect(record.tokensBefore - record.tokensAfter).toBeGreaterThan(1_000);
    const { handle = "" } = record.edits[0]?.omitted ?? {};
    const recalled = await session.recall(handle, { fromLine: 2_500, toLine: 2_501 });
    expect(recalled).toMatchObject({ status: "found", from: "store", text: "line 2499\nline 2500\n" });
  });

  it("does not touch outputs that the model has already answered", () => {
    const { session } = setUp({ limits: { contextTokens: 1_000_000, outputTokens: 4_000 } });
    session.observe([user("u1", "go"), step("a1", words(20_000)), answer("a2", "seen")]);
    expect(session.nextAction().type).toBe("none");
  });

  it("clears old outputs instead of compacting when that is enough", async () => {
    const { session, summarizer } = setUp({
      compaction: { reserveTokens: 4_000 },
      prune: { protectTokens: 2_000, minimumTokens: 1_000 },
    });
    const old = Array.from({ length: 6 }, (_, index) => [
      user(`u${index}`, "next"),
      step(`a${index}`, words(6_000, `w${index}`)),
    ]);
    session.observe([...old.flat(), user("u9", "and now?")]);
    const action = session.nextAction();
    expect(action).toMatchObject({ type: "prune", reason: "over-limit" });
    await session.run(action);
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
    expect(texts(session.messages())).toContain(CLEARED_PLACEHOLDER);
    expect(summarizer.calls).toHaveLength(0);
    expect(await session.recall("a0/0")).toMatchObject({
      status: "found",
      totalChars: words(6_000, "w0").length,
    });
  });

  it("TRIGGER, PIVOT: compacts when the estimate reaches the limit; what is left fits and has no fault", async () => {
    const { session, events, summarizer } = setUp();
    session.observe(deepFreeze([...conversation(30), user("last", "what about the tests?")]));
    const action = session.nextAction();
    expect(action).toMatchObject({ type: "compact", trigger: "threshold" });
    expect(await session.run(action)).toMatchObject({ status: "applied", batch: { step: "compact" } });
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
    expect(findFaults(session.messages())).toEqual([]);
    expect(texts(session.messages())).toContain("Keep the parser small");
    expect(texts(session.messages())).toContain("what about the tests?");
    expect(summarizer.calls).toHaveLength(1);
    expect(events.filter(({ type }) => type === "compaction_start")).toHaveLength(1);
    expect(events.filter(({ type }) => type === "compaction_end")).toHaveLength(1);
    expect(session.ledger()).toMatchObject([{ step: "compact", outcome: "applied" }]);
  });

  it("every change bumps the epoch and is told as an event with sizes before and after", async () => {
    const { session, events } = setUp();
    session.observe(conversation(30));
    await session.run(session.nextAction());
    const changed = events.filter((event) => event.type === "context_changed");
    expect(changed).toMatchObject([{ kind: "compact", reason: "threshold", epoch: 1 }]);
    expect(changed[0]?.after).toBeLessThan(changed[0]?.before ?? 0);
  });

  it("the compacted list is what comes next, and the host's own list stays as it was", async () => {
    const { session } = setUp();
    const owned = deepFreeze(conversation(30));
    session.observe(owned);
    await session.run(session.nextAction());
    const compacted = session.messages();
    session.observe([...owned, user("next", "go on")]);
    expect(session.messages().slice(0, compacted.length)).toEqual(compacted);
    expect(session.messages().at(-1)?.id).toBe("next");
  });

  it("usage from before the compaction does not trigger the next one", async () => {
    const { session } = setUp();
    const messages = conversation(30).map((message) =>
      message.role === "assistant" ? { ...message, usage: usage(39_000) } : message,
    );
    session.observe(messages);
    await session.prepare();
    expect(session.status().estimate.source).toBe("heuristic");
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
    session.append(answer("b1", "done", { usage: usage(6_000) }));
    expect(session.status().estimate).toMatchObject({ source: "usage", usageTokens: 6_000 });
  });

  it("usage that fills the window is noticed inside a tool loop", () => {
    const { session } = setUp();
    session.append(user("u1", "go"));
    session.append({ ...step("a1", "ok"), usage: usage(37_000) });
    expect(session.nextAction()).toMatchObject({ type: "compact" });
  });

  it("either rule makes a compaction due, and auto off stops both", () => {
    const auto = { thresholds: { "acme/big": { tokens: 39_999 } } };
    const { session } = setUp({ compaction: auto, model: { provider: "acme", id: "big" } });
    session.append(user("u1", "go"));
    session.append(answer("a1", "ok", { usage: usage(38_000), model: { provider: "acme", id: "big" } }));
    expect(session.nextAction()).toMatchObject({ type: "compact", trigger: "overflow" });
    session.change({ type: "set-auto", autoCompact: false });
    expect(session.nextAction()).toMatchObject({ type: "none", reason: "auto-off" });
  });

  it("opencode#50474: usage many times the window right after a compaction is not believed", async () => {
    const { session, events } = setUp();
    session.observe(conversation(30));
    await session.prepare();
    session.append(answer("b1", "done", { usage: usage(700_000) }));
    expect(await session.prepare()).toMatchObject({ type: "none" });
    expect(events).toContainEqual(expect.objectContaining({ code: "usage-not-believed" }));
  });

  it("an answer that shows a window that was exceeded makes a compaction due", () => {
    const { session } = setUp();
    for (const message of conversation(3, 200)) session.append(message);
    session.append(answer("b1", "ok", { finish: "model_context_window_exceeded" }));
    expect(session.nextAction()).toMatchObject({ type: "compact", trigger: "overflow" });
  });

  it.each([
    { share: 0.58, end: { type: "none" } },
    { share: 0.3, end: { type: "compact", trigger: "overflow" } },
  ])(
    "a count of $share of the first estimate shows a cut prompt only below all that it may be: $end.type",
    (given) => {
      const { session } = setUp({ model: { provider: "anthropic", id: "claude-opus-5-5" } });
      session.append(user("u1", words(8_000)));
      const { tokens } = session.status();
      session.append(answer("a1", "ok", { usage: usage(Math.round(tokens * given.share)) }));
      expect(session.nextAction()).toMatchObject(given.end);
    },
  );

  it("TOOLSUM: sums up old results above the cutoff, and only those that were answered", async () => {
    const { session, events } = setUp({
      compaction: { toolCallCutoff: 3, toolSummaryStrategy: "heuristic" },
    });
    session.append(user("u1", "go"));
    for (let index = 0; index < 6; index++) session.append(step(`a${index}`, words(200)));
    const action = session.nextAction();
    expect(action).toMatchObject({ type: "summarize-tool-results", visibleResults: 6 });
    expect(await session.run(action)).toMatchObject({ status: "applied" });
    expect(session.nextAction().type).toBe("none");
    expect(findFaults(session.messages())).toEqual([]);
    expect(events.filter(({ type }) => type.startsWith("tool_summary"))).toMatchObject([
      { type: "tool_summary_start" },
      { type: "tool_summary_end", archivedResults: 3 },
    ]);
  });

  it("25 parallel calls in one turn are not archived before the model has seen them", () => {
    const { session } = setUp({ compaction: { toolSummaryStrategy: "heuristic" } });
    const parts = Array.from({ length: 25 }, (_, index) => step(`c${index}`, words(50)).parts).flat();
    session.append(user("u1", "go"));
    session.append({ id: "a1", role: "assistant", parts });
    expect(session.nextAction().type).toBe("none");
    session.append(answer("a2", "seen"));
    expect(session.nextAction()).toMatchObject({ type: "summarize-tool-results", visibleResults: 25 });
  });

  it("compacts by hand at any time, also when auto is off, without telling the agent to go on", async () => {
    const { session } = setUp({ compactAt: "never" });
    session.observe(conversation(6));
    expect(session.nextAction().type).toBe("none");
    const action = session.nextAction({ demand: "manual" });
    expect(action).toMatchObject({ type: "compact", trigger: "manual" });
    expect(await session.run(action)).toMatchObject({ status: "applied" });
    expect(session.transcript().some(({ metadata }) => metadata?.kind === "continue")).toBe(false);
  });

  it("after a finished answer the agent is not told to go on", async () => {
    const { session } = setUp();
    session.observe(conversation(30));
    await session.prepare({ moment: "after-turn" });
    expect(session.messages().some(({ metadata }) => metadata?.kind === "continue")).toBe(false);
  });

  it("a vetoed compaction leaves everything as it was and is not tried again at once", async () => {
    const { session, events, summarizer } = setUp(
      {},
      { hooks: [{ name: "no", compacting: () => ({ veto: true }) }] },
    );
    session.observe(conversation(30));
    const before = session.messages();
    expect(await session.prepare()).toMatchObject({ type: "none", reason: "vetoed", fits: false });
    expect(session.messages()).toEqual(before);
    expect(summarizer.calls).toHaveLength(0);
    expect(events.filter(({ type }) => type === "compaction_end")).toMatchObject([{ error: "vetoed" }]);
  });

  it("two compactions in a row that gain nothing end in a warning and the request, not in a loop", async () => {
    const { session, events } = setUp();
    session.append(user("u1", words(60_000)));
    for (let turn = 0; turn < 8; turn++) {
      await session.prepare();
      session.append(answer(`a${turn}`, "still here"));
    }
    expect(session.nextAction()).toMatchObject({ type: "none", reason: "nothing-to-gain", fits: false });
    expect(events).toContainEqual(expect.objectContaining({ code: "compaction-gained-little" }));
    expect(session.ledger().filter(({ outcome }) => outcome === "nothing")).toHaveLength(2);
  });

  it("waits while the host compacts by itself, and does a compaction that was asked for in its own transcript", async () => {
    const asked: Message = { id: "m", role: "user", parts: [{ type: "compaction", trigger: "manual" }] };
    const observing = setUp();
    observing.session.observe([...conversation(30), asked]);
    expect(observing.session.nextAction()).toMatchObject({ type: "none", reason: "host-compacts" });
    const owning = setUp();
    for (const message of [...conversation(6), asked]) owning.session.append(message);
    expect(owning.session.nextAction()).toMatchObject({ type: "compact", trigger: "manual" });
    expect(await owning.session.run(owning.session.nextAction())).toMatchObject({ status: "applied" });
    expect(owning.session.nextAction()).toMatchObject({ type: "none" });
  });

  it("runs nothing that was decided on another state, and only one action at a time", async () => {
    const { session } = setUp();
    session.observe(conversation(30));
    const action = session.nextAction();
    const running = session.run(action);
    expect(session.nextAction()).toMatchObject({ type: "none", reason: "in-progress" });
    expect(await session.run(action)).toEqual({ status: "busy" });
    expect(await session.undo()).toEqual({ status: "busy" });
    expect(await running).toMatchObject({ status: "applied" });
    expect(await session.run(action)).toEqual({ status: "stale" });
  });

  it("works without a summarizer, a journal or a store", async () => {
    const session = createSession({ clock: createFakeClock() }, { limits: WINDOW });
    session.observe(conversation(30));
    expect(await session.prepare()).toMatchObject({ type: "none", fits: true });
    expect(session.ledger()).toMatchObject([{ step: "compact", degraded: true }]);
  });

  it("takes the model from the answers when nobody names it", () => {
    const { session } = setUp({ compaction: { thresholds: { "acme/small": { tokens: 50 } } } });
    session.append(user("u1", words(100)));
    expect(session.nextAction().type).toBe("none");
    session.append(answer("a1", "ok", { model: { provider: "acme", id: "small" } }));
    expect(session.status()).toMatchObject({ source: "threshold", limitTokens: 50 });
  });

  it("counts a new model as a new epoch", () => {
    const { session } = setUp();
    session.append(user("u1", "go"));
    session.append(answer("a1", "ok", { usage: usage(20_000), model: { provider: "acme", id: "one" } }));
    expect(session.status().estimate.source).toBe("usage");
    session.useModel({ provider: "acme", id: "two" }, { contextTokens: 8_192, outputTokens: 1_000 });
    expect(session.status()).toMatchObject({ contextWindowTokens: 8_192, estimate: { source: "heuristic" } });
  });
});

describe("the usage of a request that was sent before its window was compacted", () => {
  it("counts neither for what is left of it nor as a sign that the next prompt was cut", async () => {
    const { session } = startSession({ limits: { contextTokens: 400_000, outputTokens: 4_000 } });
    const counted = (inputTokens: number): Partial<Message> => ({
      usage: { inputTokens, outputTokens: 5, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    });
    const first = [...conversation(6, 8_000), user("u9", "And now?")];
    session.observe(first);
    await session.prepare();
    session.sent();
    // The answer comes with the next list, and somebody compacts before.
    await session.prepare({ demand: "manual" });
    const second = [...first, answer("a9", "Done.", counted(60_000)), user("u10", "Go on.")];
    session.observe(second);
    await session.prepare();
    expect(session.status().tokens).toBeLessThan(30_000);
    session.sent();
    session.observe([...second, answer("a10", "Done.", counted(9_000)), user("u11", "And on.")]);
    expect(session.nextAction()).toMatchObject({ type: "none" });
  });
});
