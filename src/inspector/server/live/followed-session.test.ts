import { describe, expect, it } from "vitest";
import { createTestContext, hooksOf } from "../../../../test/rig/plugin-context.ts";
import type { SessionExport } from "../../../formats/wires/opencode/decode-messages.ts";
import type { PluginEntry } from "../../../plugin/stores/journal.ts";
import { createModelWindows } from "../../../plugin/window/model-windows.ts";
import { createPinnedTexts } from "../../../plugin/window/pins.ts";
import { createPruneWindow } from "../../../plugin/window/prune.ts";
import { applyEdits } from "../../../transcript/edit.ts";
import { CLEARED_PLACEHOLDER } from "../../../transcript/part.ts";
import { createInspection } from "../../view/inspection.ts";
import { applyLiveEvent, type LiveEvent, type LiveState, liveStateOf } from "../../view/protocol.ts";
import { createFollowedSession, type FollowedSession } from "./followed-session.ts";

const KEY = ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].join("");

const stored = (...texts: readonly string[]): SessionExport => ({
  info: { id: "root", title: "A session", directory: "/home/dev" },
  messages: texts.map((text, index) => ({
    info: { id: `m${index}`, role: index % 2 === 0 ? "user" : "assistant" },
    parts: [
      { type: "text", text },
      {
        type: "tool",
        callID: `c${index}`,
        tool: "bash",
        state: { status: "completed", input: { command: "ls" }, output: `output ${index}` },
      },
    ],
  })),
});

const engine = (record: object, sessionId = "root"): PluginEntry =>
  ({ type: "engine", atMs: 5, sessionId, record: { v: 2, ...record } }) as PluginEntry;

const clearing = (id: string, messageId: string) => ({
  type: "delta",
  id,
  step: "prune",
  reason: "worth it",
  at: 77,
  tokensBefore: 1_000,
  tokensAfter: 900,
  edits: [{ type: "hide-part", what: "output", messageId, partIndex: 1, stage: "prune", reason: "pruned" }],
});

const request = (messageId: string): PluginEntry => ({
  type: "request",
  atMs: 9,
  sessionId: "root",
  messageId,
  model: "p/m",
  inputTokens: 1,
  outputTokens: 1,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUSD: 0,
});

const follow = (): FollowedSession => createFollowedSession({ sessionId: "root", secrets: "redacted" });

/** A page that came when the session was as it is now. */
function pageOf(session: FollowedSession) {
  const page = { state: {} as LiveState, events: [] as LiveEvent[], leave: () => {} };
  const loaded = { ...session.head(), transcript: session.transcript() };
  page.state = liveStateOf(loaded);
  const hear = (event: LiveEvent): void => {
    page.events.push(event);
    page.state = applyLiveEvent(page.state, event);
  };
  page.leave = session.live.listen(hear, session.live.revision());
  return page;
}

const textsOf = ({ session }: LiveState): readonly unknown[] =>
  session.transcript.map(({ parts }) => (parts[0]?.type === "text" ? parts[0].text : undefined));

describe("a session that is followed", () => {
  it("tells a page of new and changed messages and of no others", () => {
    const session = follow();
    session.updateMessages(stored("one", "two"));
    const page = pageOf(session);
    session.updateMessages(stored("one", "two and more", "three"));
    expect(textsOf(page.state)).toEqual(["one", "two and more", "three"]);
    const changed = page.events.flatMap((event) =>
      event.type === "messages" ? event.changes.map(({ index }) => index) : [],
    );
    expect(changed).toEqual([1, 2]);
    expect(session.updateMessages(stored("one", "two and more", "three"))).toBe(false);
    session.updateMessages(stored("one"));
    expect(textsOf(page.state)).toEqual(["one"]);
    page.leave();
    session.updateMessages(stored("unheard"));
    expect(textsOf(page.state)).toEqual(["one"]);
  });

  it("tells a page that comes late everything it has missed, even in many pieces", () => {
    const session = follow();
    session.updateMessages(stored("one"));
    const known = session.live.revision();
    const texts = Array.from({ length: 170 }, (_, index) => `text ${index}`);
    session.updateMessages(stored(...texts));
    let state = liveStateOf({ ...session.head(), transcript: session.transcript().slice(0, 1) });
    const revisions: number[] = [];
    session.live.listen((event) => {
      state = applyLiveEvent(state, event);
      if (event.type === "messages") revisions.push(event.revision);
    }, known);
    expect(textsOf(state)).toEqual(texts);
    expect(revisions).toEqual([known, known, known, session.live.revision()]);
  });

  it("shows the plugin's edits as they are in force", () => {
    const session = follow();
    session.updateMessages(stored("one", "two"));
    const page = pageOf(session);
    session.updateJournal([engine(clearing("b1", "m1")), engine(clearing("b2", "m0"), "child")], []);
    const cleared = (): readonly unknown[] =>
      createInspection(page.state.session)
        .inspectWindow({ policy: "as-sent" })
        .rows.flatMap(({ items }) =>
          items.flatMap(({ handle, fate, stage }) => (fate === "kept" ? [] : [[handle, fate, stage]])),
        );
    expect(cleared()).toEqual([["m1/1", "cleared", "prune"]]);
    session.updateProblems(["something else"]);
    expect(cleared()).toEqual([["m1/1", "cleared", "prune"]]);
    expect(page.state.left).toEqual([
      {
        batchId: "b1",
        atMs: 77,
        messageId: "m1",
        stage: "prune",
        reason: "pruned",
        savedTokens: 100,
        handle: "m1",
      },
    ]);
    expect(JSON.stringify(page.state.session)).not.toContain(CLEARED_PLACEHOLDER);
    session.updateJournal(
      [
        engine(clearing("b1", "m1")),
        engine(clearing("b2", "m0"), "child"),
        engine({ type: "undo", batchId: "b1", at: 80 }),
      ],
      [],
    );
    expect(cleared()).toEqual([]);
    expect(page.state.left).toEqual([]);
  });

  it("says what left wherever it is followed, and reads the edits as soon as the messages are there", async () => {
    const row = (step: number, line: number): string =>
      `step ${step} row ${line} value ${line * step} lorem ipsum`;
    const whole = stored("Look at all of them.", ...Array.from({ length: 30 }, (_, step) => `Step ${step}.`));
    const messages = whole.messages.map(({ info, parts: [text, tool] }, step) => {
      const output = Array.from({ length: 220 }, (_, line) => row(step, line)).join("\n");
      const state = { status: "completed", input: { command: `${step}` }, output };
      const model = { providerID: "p", modelID: "m" };
      return step === 0
        ? { info: { ...info, sessionID: "root", model }, parts: [text] }
        : {
            info: { ...info, role: "assistant", finish: "tool-calls", sessionID: "root", ...model },
            parts: [text, { ...(tool as object), state }],
          };
    }) as never as SessionExport["messages"];
    const test = createTestContext({ options: { prune: "auto", models: { "p/m": { keepTokens: 1_000 } } } });
    const windows = createModelWindows(test.context.options);
    const pins = createPinnedTexts([]);
    const pruning = createPruneWindow({ context: test.context, pins, windows, isChild: async () => false });
    const hooks = hooksOf([windows.feature, pruning.feature], (failure) =>
      expect.fail(JSON.stringify(failure)),
    );
    const sent = structuredClone(messages) as unknown[];
    await hooks["experimental.chat.messages.transform"]?.({}, { messages: sent as never });
    const session = follow();
    const page = pageOf(session);
    session.updateJournal(await test.entries("root"), []);
    // Followed from another machine: the messages lie with the agent, the journal in a database.
    const leftElsewhere = page.state.left;
    session.updateMessages({ ...whole, messages });
    const { transcript, batches = [] } = page.state.session;
    const edits = batches.flatMap((batch) => batch.edits);
    expect(edits.filter(({ type }) => type === "replace-part").length).toBeGreaterThan(10);
    expect(page.state.left).toHaveLength(edits.length);
    expect(leftElsewhere.map(({ handle }) => handle)).toEqual(page.state.left.map(({ handle }) => handle));
    for (const { savedTokens } of leftElsewhere) expect(savedTokens).toBeGreaterThan(0);
    for (const { savedTokens } of page.state.left) expect(savedTokens).toBeGreaterThan(0);
    const shown = applyEdits(transcript, edits, { at: 1 }).flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === "tool" && part.outcome.status === "done" ? [part.outcome.output] : [],
      ),
    );
    const outputs = sent.flatMap((message) =>
      (message as SessionExport["messages"][number]).parts.flatMap(
        (part) => (part as { state?: { output: string } }).state?.output ?? [],
      ),
    );
    expect(shown).toEqual(outputs);
  });

  it("says each entry of the journal once, and everything again when one came in between", () => {
    const session = follow();
    const page = pageOf(session);
    session.updateJournal([request("a")], []);
    session.updateJournal([request("a"), request("c")], []);
    expect(page.state.own.requests).toBe(2);
    session.updateJournal([request("a"), request("b"), request("c")], []);
    expect(page.state.own.requests).toBe(3);
    expect(page.state.entries.map((entry) => entry.type === "request" && entry.messageId)).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it("redacts messages, titles, forks and notes", () => {
    const session = follow();
    const failed: PluginEntry = {
      type: "hook-failed",
      atMs: 1,
      sessionId: "root",
      feature: "f",
      hook: "h",
      reason: `no ${KEY}`,
    };
    session.updateMessages({ ...stored(`use ${KEY}`), info: { id: "root", title: `t ${KEY}` } });
    const page = pageOf(session);
    session.updateJournal(
      [failed, { type: "other", name: "new", atMs: 1, sessionId: "root", value: { KEY } }],
      [],
    );
    session.updateProblems([`cannot read ${KEY}`]);
    expect(JSON.stringify(page.state)).not.toContain(KEY);
    expect(page.state.session.redactedSecrets).toBeGreaterThanOrEqual(2);
    expect(page.state.entries[0]).toMatchObject({ type: "note" });
  });

  it("says whether it works, and nothing twice", () => {
    const session = follow();
    const page = pageOf(session);
    const before = page.events.length;
    for (const activity of ["working", "working", "ended", "ended"] as const)
      session.updateActivity(activity);
    expect(page.events.length - before).toBe(2);
    expect(page.state.activity).toBe("ended");
  });
});
