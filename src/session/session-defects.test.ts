import { describe, expect, it } from "vitest";
import { transcript } from "../../test/rig/notation.ts";
import { answer, conversation, SUMMARY, startSession, user } from "../../test/rig/session.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message, Usage } from "../transcript/message.ts";

const used = (figures: Partial<Usage>): Usage => ({
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  ...figures,
});

describe("defects of the originals that a session must not have", () => {
  it("the window of a compaction begins with the marker, a user message, then the summary", async () => {
    const { session } = startSession();
    session.observe([...conversation(30), user("last", "and now?")]);
    await session.prepare();
    const [marker, summary] = session.messages();
    expect(marker).toMatchObject({ role: "user", parts: [{ type: "compaction" }] });
    expect(summary).toMatchObject({ role: "assistant", summary: true, parentId: marker?.id });
  });

  it("an unfinished or failed summary of the host's does not hide anything", () => {
    const { session } = startSession();
    const marker: Message = { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
    const failed = answer("s", "half a", { summary: true, error: { name: "X", text: "x" } });
    session.observe([...transcript("u:5 a:5"), marker, failed, user("u9", "go on")]);
    expect(session.messages().map(({ id }) => id)).toContain("m1");
  });

  it("a huge message in the middle costs nothing that stands before it", () => {
    const { session } = startSession();
    session.observe([user("u1", "first"), answer("a1", "x".repeat(2_100_000)), user("u2", "last")]);
    expect(session.messages()).toHaveLength(3);
  });

  it("a reserve as large as the window is reported once and never makes a compaction due", () => {
    const { session, events } = startSession({
      // The default profile leaves something of every window.
      profile: "documented",
      limits: { contextTokens: 4_000, outputTokens: 8_000 },
      compaction: { maxTokens: 0, maxMessages: 0 },
    });
    session.append(user("u1", "hello"));
    session.append(answer("a1", "hi", { usage: used({ inputTokens: 3_900 }) }));
    expect(session.nextAction()).toMatchObject({ type: "none" });
    session.nextAction();
    expect(events).toEqual([expect.objectContaining({ code: "no-usable-window" })]);
  });

  it("by default such a window is compacted when it is nearly full, not before and not never", () => {
    const { session, events } = startSession({ limits: { contextTokens: 4_000, outputTokens: 8_000 } });
    session.append(user("u1", "hello"));
    session.append(answer("a1", "hi", { usage: used({ inputTokens: 2_900 }) }));
    expect(session.nextAction()).not.toMatchObject({ type: "compact" });
    session.append(answer("a2", "hi", { usage: used({ inputTokens: 3_100 }) }));
    expect(session.nextAction()).toMatchObject({ type: "compact" });
    expect(events).toEqual([]);
  });

  it("says once when the two profiles disagree", async () => {
    const { session, events } = startSession();
    session.append(user("u1", "hello"));
    for (const id of ["a1", "a2"]) {
      session.append(answer(id, "hi", { usage: used({ inputTokens: 10, cacheWriteTokens: 38_000 }) }));
      await session.prepare();
    }
    const told = events.filter((event) => event.type === "warning" && event.code === "formulas-disagree");
    expect(told).toHaveLength(1);
  });

  it("a call that never got its result is answered by a stub, never left dangling", () => {
    const { session } = startSession();
    session.observe(transcript("u:5 a:5(bash?,read:9) u:5"));
    expect(findFaults(session.messages())).toEqual([]);
    expect(session.messages()[1]?.parts).toHaveLength(3);
  });

  it("pruning sees the window that is sent, after an undo and after a compaction", async () => {
    const { session } = startSession({ prune: { protectTokens: 0, minimumTokens: 0 } });
    session.observe([...conversation(30), user("last", "and now?")]);
    await session.prepare();
    await session.undo();
    const action = session.nextAction({ demand: "manual" });
    await session.run(action);
    const hidden = new Set(session.transcript().filter(({ metadata }) => metadata?.agentVisible === false));
    expect(hidden.size).toBeGreaterThan(0);
    expect(session.nextAction({ moment: "after-turn" }).type).toBe("none");
  });

  it("every assistant message with its calls is in the next request", () => {
    const { session } = startSession();
    for (const message of transcript("u:5 a:5(bash:9) a:5(read:9) a:5")) session.append(message);
    expect(session.messages().map(({ id }) => id)).toEqual(["m1", "m2", "m3", "m4"]);
  });

  it("a tail that the host kept behind its summary does not speak for the new window", () => {
    const { session } = startSession();
    const big = used({ inputTokens: 39_000 });
    const marker: Message = {
      id: "m",
      role: "user",
      parts: [{ type: "compaction", trigger: "auto", tailStartId: "t1" }],
    };
    const tail = [user("t1", "kept"), answer("t2", "kept too", { usage: big })];
    const summary = answer("s", SUMMARY, { summary: true, parentId: "m" });
    session.observe([...conversation(20), ...tail, marker, summary]);
    expect(session.messages().map(({ id }) => id)).toEqual(["m", "s", "t1", "t2"]);
    expect(session.status().estimate.source).toBe("heuristic");
    expect(session.nextAction()).toMatchObject({ type: "none", fits: true });
    // The same window in the order in which OpenCode sends it; the times say which message is older.
    const sent = startSession();
    sent.session.observe([
      { ...marker, createdAt: 50 },
      { ...summary, createdAt: 60 },
      ...tail.map((message, index) => ({ ...message, createdAt: 10 + index })),
    ]);
    expect(sent.session.nextAction()).toMatchObject({ type: "none", fits: true });
  });

  it("takes nothing for a message that is none", () => {
    const { session } = startSession();
    const odd = [undefined, null, 7, "text", {}, { id: "x" }, { parts: [] }] as unknown as Message[];
    for (const message of odd) session.append(message);
    session.observe([...odd, ...transcript("u:5")]);
    expect(session.messages().map(({ id }) => id)).toEqual(["m1"]);
  });
});
