import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BoundConversation,
  createBoundConversation,
} from "../../test/rig/bound-thinking/bound-conversation.ts";
import { user } from "../../test/rig/session.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { bindThoughts, NO_BINDINGS, readThoughts } from "./thoughts.ts";

/** Steps behind which old outputs are pruned, with default options. */
async function pruned(conversation: BoundConversation): Promise<void> {
  conversation.say("Read all files.");
  for (let step = 0; step < 80 && conversation.report().edits === 0; step++)
    await conversation.step({ calls: 1, chars: 30_000 });
  for (let step = 0; step < 2; step++) await conversation.step({ calls: 1, chars: 10 });
}

/** An answer with two thoughts. */
const thinking = (id: string): Message => ({
  id,
  role: "assistant",
  parts: [
    { type: "reasoning", text: `First of ${id}.` },
    { type: "text", text: "Now." },
    { type: "reasoning", text: `Second of ${id}.` },
    { type: "text", text: "Done." },
  ],
});

describe("thoughts in a session", () => {
  it("are all sent while nothing is edited", async () => {
    const conversation = createBoundConversation();
    conversation.say("Go.");
    for (let step = 0; step < 12; step++) await conversation.step({ calls: 2, chars: 500 });
    expect(conversation.report()).toMatchObject({ refused: 0, edits: 0, made: 12, sent: 11, lost: 0 });
  });

  it("hold behind text that no provider takes: it is repaired in every request, the first included", async () => {
    const conversation = createBoundConversation();
    conversation.say("before\0after");
    for (let step = 0; step < 3; step++) await conversation.step({ calls: 1, chars: 10 });
    conversation.say("half of a letter: \ud83d");
    await conversation.step({ calls: 0, chars: 0 });
    await conversation.restart();
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.newestRequest()).toContain("beforeafter");
    expect(conversation.report()).toMatchObject({ refused: 0, made: 5, sent: 4, needlesslyLost: 0 });
  });

  it("leave behind an edit that was made after them, and stay before it", async () => {
    const conversation = createBoundConversation();
    await pruned(conversation);
    const { refused, edits, lost, lostSaid, sent } = conversation.report();
    expect(refused).toBe(0);
    expect(edits).toBeGreaterThan(0);
    expect(lost).toBeGreaterThan(0);
    expect(lostSaid).toBe(lost);
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report().sent).toBe(sent + 1);
  });

  it("return when the edit is taken back, and those that were made meanwhile leave", async () => {
    const conversation = createBoundConversation();
    await pruned(conversation);
    await conversation.undo();
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report().refused).toBe(0);
  });

  it("hold after a restart from a state that says what they are bound to", async () => {
    const conversation = createBoundConversation();
    await pruned(conversation);
    const before = conversation.report().sent;
    await conversation.restart();
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 0, sent: before + 1 });
  });

  it("go on where an earlier version was refused: none behind its edits is sent", async () => {
    const conversation = createBoundConversation();
    await pruned(conversation);
    await conversation.restart("without-bindings");
    await conversation.step({ calls: 1, chars: 10 });
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report().refused).toBe(0);
  });

  it("are left out after a refusal, in the same call, by a model of which no rule is known", async () => {
    const conversation = createBoundConversation({ known: "some-model" });
    await pruned(conversation);
    expect(conversation.report()).toMatchObject({
      refused: 1,
      failed: 0,
      lost: conversation.report().lostSaid,
    });
    await conversation.restart();
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 1, failed: 0 });
  });

  it("leave behind an answer of which a stage hid one thought, since none is left out between two that stay", () => {
    const source: Transcript = [
      user("u1", "Go."),
      thinking("a1"),
      user("u2", "And?"),
      thinking("a2"),
      user("u3", "And?"),
    ];
    const made = [...source, thinking("a3")];
    const bindings = bindThoughts(NO_BINDINGS, { reading: readThoughts(made, NO_BINDINGS), source: made });
    const hidden = (id: string): Transcript =>
      made.map((message) =>
        message.id === id
          ? {
              ...message,
              parts: message.parts.map((part, index) =>
                index === 0 ? { ...part, agentVisible: false } : part,
              ),
            }
          : message,
      );
    expect([...readThoughts(hidden("a1"), bindings).stale]).toEqual(["a1"]);
    expect([...readThoughts(hidden("a2"), bindings).stale]).toEqual(["a2", "a3"]);
  });

  it("leave behind an edit where nobody said which model is asked", async () => {
    const conversation = createBoundConversation({ known: "nothing" });
    await pruned(conversation);
    const { refused, edits, lost } = conversation.report();
    expect(refused).toBe(0);
    expect(edits).toBeGreaterThan(0);
    expect(lost).toBeGreaterThan(0);
  });

  it("are never refused, and no more are lost than those behind an edit, whatever happens", {
    timeout: 120_000,
  }, async () => {
    const operation = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          type: fc.constant("step" as const),
          calls: fc.integer({ min: 0, max: 3 }),
          chars: fc.constantFrom(20, 4_000, 40_000),
          thoughts: fc.integer({ min: 0, max: 2 }),
        }),
      },
      { weight: 2, arbitrary: fc.constant({ type: "say" as const }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          { type: "undo" as const },
          { type: "restart" as const },
          { type: "compact" as const },
          { type: "pause" as const },
        ),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("model" as const),
          model: fc.constantFrom("claude-opus-5-5", "claude-opus-5", "claude-sonnet-5-5"),
        }),
      },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          operations: fc.array(operation, { minLength: 5, maxLength: 60 }),
          account: fc.constantFrom("new" as const, "old" as const),
          tail: fc.constantFrom(undefined, 0),
          windowTokens: fc.constantFrom(20_000, 60_000, 1_000_000),
        }),
        async ({ operations, account, windowTokens, tail }) => {
          const conversation = createBoundConversation({
            account,
            windowTokens,
            ...(tail !== undefined && { tail }),
          });
          conversation.say("Begin.");
          for (const each of operations) await conversation.play(each);
          const { refused, failed, needlesslyLost } = conversation.report();
          expect({ refused, failed, needlesslyLost }).toEqual({ refused: 0, failed: 0, needlesslyLost: 0 });
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 60) },
    );
  });
});
