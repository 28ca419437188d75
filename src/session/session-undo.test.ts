import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeSummarizer } from "../../test/rig/fakes.ts";
import { answer, conversation, SUMMARY, startSession, user, words } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import type { Transcript } from "../transcript/message.ts";
import type { Journal } from "./journal.ts";
import type { SessionPorts } from "./options.ts";

const setUp = (ports: Partial<SessionPorts> = {}, options: EngineOptions = {}) =>
  startSession(options, ports);

const CONVERSATION = conversation(30);

/** Says something else at every call: a summary that only repeats the last one is refused. */
const numbered = () => createFakeSummarizer((_, __, index) => Promise.resolve(`${SUMMARY} Part ${index}.`));

describe("undo", () => {
  it("restores exactly the messages to send from before the last step", async () => {
    const { session, events } = setUp();
    session.observe(CONVERSATION);
    const before = structuredClone(session.messages());
    await session.prepare();
    expect(session.messages()).not.toEqual(before);
    expect(await session.undo()).toMatchObject({ status: "undone", batch: { step: "compact" } });
    expect(session.messages()).toEqual(before);
    expect(session.edits()).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: "context_changed", kind: "undo", reason: "compact" });
    expect(await session.undo()).toEqual({ status: "nothing" });
  });

  it("takes back one step after the other, newest first", async () => {
    const { session } = setUp({ summarizer: numbered() });
    session.observe(CONVERSATION);
    await session.prepare();
    const between = structuredClone(session.messages());
    await session.run(session.nextAction({ demand: "manual" }));
    expect(session.status().batches.map(({ step }) => step)).toEqual(["compact", "compact"]);
    await session.undo();
    expect(session.messages()).toEqual(between);
  });

  it("messages that came after the step stay, and those after the undo are part of it", async () => {
    const { session } = setUp();
    session.observe(CONVERSATION);
    await session.prepare();
    session.append(user("new", "go on"));
    await session.undo();
    session.append(answer("newer", "gone on"));
    expect(session.messages().map(({ id }) => id)).toEqual([
      ...CONVERSATION.map(({ id }) => id),
      "new",
      "newer",
    ]);
  });

  it("is not done again by itself in the same breath", async () => {
    const { session } = setUp();
    session.observe(CONVERSATION);
    await session.prepare();
    await session.undo();
    expect(session.nextAction()).toMatchObject({ type: "none", reason: "after-undo", fits: false });
    for (let turn = 0; turn < 4; turn++) session.append(answer(`later${turn}`, "still talking"));
    expect(session.nextAction()).toMatchObject({ type: "compact" });
  });
});

describe("the journal of a session", () => {
  it("holds every edit with reason and stage, and what the batch saved", async () => {
    const journal = createMemoryJournal();
    const { session } = setUp({ journal });
    session.observe(CONVERSATION);
    await session.prepare();
    const { entries } = await journal.read();
    const found = entries.map(({ value }) => value as { type: string }).find(({ type }) => type === "delta");
    const record = found as unknown as {
      edits: Record<string, unknown>[];
      tokensBefore: number;
      tokensAfter: number;
    };
    expect(record).toMatchObject({ v: 2, type: "delta", step: "compact", reason: "threshold" });
    expect(record.tokensAfter).toBeLessThan(record.tokensBefore);
    const hidden = record.edits.filter(({ type }) => type === "hide-run" || type === "hide-message");
    const count = hidden.reduce((sum, { count = 1 }) => sum + Number(count), 0);
    expect(count).toBeGreaterThan(10);
    for (const edit of hidden)
      expect(edit).toMatchObject({ reason: expect.any(String), stage: expect.any(String) });
  });

  it("keeps that a person has switched automatic compaction off", async () => {
    const journal = createMemoryJournal();
    const { session } = setUp({ journal });
    session.observe(CONVERSATION.slice(0, 2));
    session.change({ type: "set-auto", autoCompact: false });
    await session.prepare();
    const again = setUp({ journal });
    await again.session.restore(CONVERSATION.slice(0, 2));
    expect(again.session.status().settings.autoCompact).toBe(false);
  });

  it("puts a session back where it was, undo included", async () => {
    const journal = createMemoryJournal();
    const { session } = setUp({ journal, summarizer: numbered() });
    session.observe(CONVERSATION);
    await session.prepare();
    await session.run(session.nextAction({ demand: "manual" }));
    await session.undo();
    const again = setUp({ journal });
    expect(await again.session.restore(CONVERSATION)).toEqual({ batches: 1, dropped: 0, unreadable: 0 });
    expect(again.session.messages()).toEqual(session.messages());
    expect(again.session.ledger()).toEqual(session.ledger());
    await again.session.undo();
    expect(again.session.messages()).toEqual(CONVERSATION);
  });

  it("whose messages are gone, or that is damaged, costs the edits it speaks of and nothing else", async () => {
    const journal = createMemoryJournal();
    const { session } = setUp({ journal });
    session.observe(CONVERSATION);
    await session.prepare();
    await journal.append({ v: 1, type: "batch", id: "x", edits: [{ edit: { type: "hide-message" } }] });
    await journal.append("nonsense");
    const again = setUp({ journal });
    expect(await again.session.restore(CONVERSATION.slice(0, 4))).toEqual({
      batches: 0,
      dropped: 1,
      unreadable: 2,
    });
    expect(again.session.messages()).toEqual(CONVERSATION.slice(0, 4));
    expect(again.events).toMatchObject([{ code: "edits-dropped" }, { code: "journal-damaged" }]);
  });

  it.each<{ name: string; append: Journal["append"] }>([
    { name: "fails", append: async () => ({ status: "failed", code: "ENOSPC", reason: "full" }) },
    {
      name: "throws",
      append: () => {
        throw new Error("boom");
      },
    },
    { name: "hangs", append: () => new Promise(() => {}) },
    { name: "answers nonsense", append: async () => undefined as never },
  ])("that $name is reported and stops nothing", async ({ append }) => {
    const { session, events, clock } = setUp({
      journal: { append, read: async () => ({ entries: [], problems: [] }) },
    });
    session.observe(CONVERSATION);
    expect(await clock.runUntilDone(session.prepare())).toMatchObject({ type: "none", fits: true });
    expect(events).toContainEqual(expect.objectContaining({ code: "not-journalled" }));
  });
});

describe("the events of a session", () => {
  it("reach a listener that throws, all of them", async () => {
    const seen: string[] = [];
    const { session } = setUp(
      {},
      {
        onEvent: (event) => {
          seen.push(event.type);
          throw new Error("listener");
        },
      },
    );
    session.observe(CONVERSATION);
    await session.prepare();
    expect(seen).toEqual([
      "compaction_start",
      "compaction_progress",
      "compaction_progress",
      "summary_usage",
      "compaction_progress",
      "context_changed",
      "compaction_end",
    ]);
  });
});

describe("an abort", () => {
  it("in the middle of a summary leaves the previous messages to send in force, and the late answer is dropped", async () => {
    let finish = (_: string): void => {};
    const late = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const { session, events } = setUp({ summarizer: createFakeSummarizer(() => late) });
    session.observe(CONVERSATION);
    const before = session.messages();
    const controller = new AbortController();
    const running = session.run(session.nextAction(), controller.signal);
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await running).toEqual({ status: "aborted" });
    finish(SUMMARY);
    await late;
    expect(session.messages()).toBe(before);
    expect(session.status().isRunning).toBe(false);
    expect(events.map(({ type }) => type)).toEqual(["compaction_start", "compaction_end", "summary_usage"]);
    expect(session.nextAction()).toMatchObject({ type: "compact" });
  });

  it("before anything was begun does nothing", async () => {
    const { session, events } = setUp();
    session.observe(CONVERSATION);
    const signal = AbortSignal.abort();
    expect(await session.prepare({ signal })).toMatchObject({ type: "none", reason: "aborted" });
    expect(events).toEqual([]);
  });
});

describe("a result that comes when its messages have changed", () => {
  it("is dropped, and the end says so", async () => {
    let finish = (_: string): void => {};
    const answerLater = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const { session, events } = setUp({ summarizer: createFakeSummarizer(() => answerLater) });
    session.observe(CONVERSATION);
    const running = session.run(session.nextAction());
    await new Promise((resolve) => setImmediate(resolve));
    const reverted = CONVERSATION.slice(0, 3);
    session.observe(reverted);
    finish(SUMMARY);
    expect(await running).toMatchObject({ status: "failed", reason: "messages-changed" });
    expect(session.messages()).toEqual(reverted);
    expect(events.at(-1)).toMatchObject({ type: "compaction_end", error: "failed" });
  });

  it("is dropped when a message it speaks of says something else by then", async () => {
    let finish = (_: string): void => {};
    const answerLater = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const { session } = setUp({ summarizer: createFakeSummarizer(() => answerLater) });
    session.observe(CONVERSATION);
    const running = session.run(session.nextAction());
    await new Promise((resolve) => setImmediate(resolve));
    session.append(user("u2", "request 2, edited by the user"));
    finish(SUMMARY);
    expect(await running).toMatchObject({ status: "failed", reason: "messages-changed" });
    expect(JSON.stringify(session.messages())).toContain("edited by the user");
  });

  it("is used when messages were only added meanwhile", async () => {
    let finish = (_: string): void => {};
    const answerLater = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const { session } = setUp({ summarizer: createFakeSummarizer(() => answerLater) });
    session.observe(CONVERSATION);
    const running = session.run(session.nextAction());
    await new Promise((resolve) => setImmediate(resolve));
    session.append(user("meanwhile", "one more thing"));
    finish(SUMMARY);
    expect(await running).toMatchObject({ status: "applied" });
    expect(session.messages().at(-1)?.id).toBe("meanwhile");
  });
});

describe("pins", () => {
  it("are spared by every step without a model", async () => {
    const old = Array.from(
      { length: 6 },
      (_, index): Transcript => [
        user(`u${index}`, "next"),
        {
          id: `s${index}`,
          role: "assistant",
          parts: [
            {
              type: "tool",
              callId: `c${index}`,
              tool: "bash",
              input: {},
              outcome: { status: "done", output: `${index} ${words(6_000)}`, attachments: [] },
            },
          ],
        },
      ],
    ).flat();
    const { session } = setUp(
      {},
      {
        pins: [{ handle: "s0/0" }, { text: "1 steady" }],
        prune: { protectTokens: 0, minimumTokens: 0 },
        toolOutput: "off",
        compaction: { reserveTokens: 4_000 },
      },
    );
    session.observe([...old, user("last", "and now?")]);
    const action = session.nextAction();
    expect(action.type).toBe("prune");
    await session.run(action);
    const shown = JSON.stringify(session.messages());
    expect(shown).toContain("0 steady");
    expect(shown).toContain("1 steady");
    expect(shown).not.toContain("2 steady");
  });
});
