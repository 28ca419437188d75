import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BoundConversation,
  createBoundConversation,
  type Operation,
} from "../../test/rig/bound-thinking/bound-conversation.ts";

/** A conversation with some turns of two steps each, large enough that a compaction gains something. */
async function talked(conversation: BoundConversation, turns = 6): Promise<BoundConversation> {
  for (let turn = 0; turn < turns; turn++) {
    conversation.say(`Question ${turn}.`);
    await conversation.step({ calls: 1, chars: 9_000 });
    await conversation.step({ calls: 0, chars: 0 });
  }
  return conversation;
}

const compact: Operation = { type: "compact" };

describe("a compaction that the provider is asked for", () => {
  it("keeps the thoughts of what is kept, and counts what it used", async () => {
    const conversation = await talked(createBoundConversation({ onDemand: "any", tail: 6_000 }));
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    const { refused, blocks, begins, keptThoughts, outputTokens } = conversation.report();
    expect({ refused, blocks, begins }).toEqual({ refused: 0, blocks: 1, begins: "block" });
    expect(keptThoughts).toBeGreaterThan(2);
    expect(outputTokens).toBeGreaterThan(0);
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 0, keptThoughts, needlesslyLost: 0 });
  });

  it("is not asked for where a summary of ours is all there is: then they are lost", async () => {
    const conversation = await talked(createBoundConversation({ tail: 6_000 }));
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 0, begins: "message", sent: 0 });
  });

  it("keeps them twice in a row, through a restart, and lets them go with an undo that takes away what they are bound to", async () => {
    const conversation = await talked(createBoundConversation({ onDemand: "any", tail: 6_000 }));
    await conversation.play(compact);
    await talked(conversation, 2);
    await conversation.play(compact);
    await conversation.restart();
    await conversation.step({ calls: 1, chars: 10 });
    const { keptThoughts } = conversation.report();
    expect(conversation.report()).toMatchObject({ refused: 0, blocks: 2, begins: "block" });
    expect(keptThoughts).toBeGreaterThan(2);
    await conversation.undo();
    await conversation.undo();
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 0, begins: "message", needlesslyLost: 0 });
  });

  it("begins what is kept with the user's message, where an answer would be joined with the block", async () => {
    const conversation = await talked(createBoundConversation({ onDemand: "user", tail: 6_000 }));
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({
      refused: 0,
      blocks: 1,
      begins: "block",
      needlesslyLost: 0,
    });
    expect(conversation.report().keptThoughts).toBeGreaterThan(0);
  });

  it("is not asked for in the middle of a turn there", async () => {
    const conversation = createBoundConversation({ onDemand: "user", tail: 6_000 });
    conversation.say("Read everything.");
    for (let step = 0; step < 12; step++) await conversation.step({ calls: 1, chars: 9_000 });
    await conversation.play(compact);
    expect(conversation.report()).toMatchObject({ refused: 0, blocks: 0, begins: "message" });
  });

  it("says behind the kept answers what was asked, where the request is no longer there", async () => {
    const conversation = createBoundConversation({ onDemand: "any", tail: 6_000 });
    conversation.say("Read everything, and never touch main.");
    for (let step = 0; step < 12; step++) await conversation.step({ calls: 1, chars: 9_000 });
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 0, blocks: 1 });
    expect(conversation.newestRequest()).toContain("never touch main");
  });

  it("is not asked for once the cache is gone", async () => {
    const conversation = await talked(createBoundConversation({ onDemand: "any", tail: 6_000 }));
    await conversation.play({ type: "pause" });
    await conversation.play(compact);
    expect(conversation.report()).toMatchObject({ refused: 0, blocks: 0, edits: 1 });
  });

  it("that fails is told once, and a summary of ours takes its place", async () => {
    const conversation = await talked(createBoundConversation({ onDemand: "fails", tail: 6_000 }));
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    await talked(conversation, 6);
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    const { warnings, edits, refused, begins } = conversation.report();
    expect(warnings).toEqual(["provider-not-compacting"]);
    expect({ refused, begins }).toEqual({ refused: 0, begins: "message" });
    expect(edits).toBeGreaterThan(0);
  });

  it("gives way to its readable backup summary when a model is asked that takes no such block", async () => {
    const conversation = await talked(createBoundConversation({ onDemand: "any", tail: 6_000 }));
    await conversation.play(compact);
    await conversation.play({ type: "model", model: "claude-opus-4-5" });
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 0, blocks: 1, begins: "message" });
    expect(conversation.newestRequest()).toContain("Question 0.");
  });

  it("gives way to its backup summary, in the same call, when the provider does not take its own block back", async () => {
    const conversation = await talked(
      createBoundConversation({
        onDemand: "any",
        tail: 6_000,
        blockRefusal: "messages.0.content.0: Input tag 'compaction' found using 'type' does not match",
      }),
    );
    await conversation.play(compact);
    await conversation.step({ calls: 1, chars: 10 });
    expect(conversation.report()).toMatchObject({ refused: 1, failed: 0, begins: "message" });
    expect(conversation.newestRequest()).toContain("Question 0.");
  });

  it("costs no thought that the provider would have taken, and no refusal, whatever happens", {
    timeout: 120_000,
  }, async () => {
    const one = (type: "undo" | "restart" | "compact" | "pause" | "say") => fc.constant({ type });
    const operation: fc.Arbitrary<Operation> = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          type: fc.constant("step" as const),
          calls: fc.integer({ min: 0, max: 3 }),
          chars: fc.constantFrom(20, 4_000, 20_000),
          thoughts: fc.integer({ min: 0, max: 2 }),
        }),
      },
      { weight: 2, arbitrary: one("say") },
      { weight: 2, arbitrary: one("compact") },
      { weight: 1, arbitrary: fc.oneof(one("undo"), one("restart"), one("pause")) },
      {
        weight: 1,
        arbitrary: fc.record({
          type: fc.constant("model" as const),
          model: fc.constantFrom("claude-opus-5-5", "claude-opus-5", "claude-opus-4-5", "claude-sonnet-5-5"),
        }),
      },
    );
    let blocks = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          operations: fc.array(operation, { minLength: 5, maxLength: 60 }),
          onDemand: fc.constantFrom("any" as const, "any" as const, "user" as const),
          account: fc.constantFrom("new" as const, "old" as const),
          tail: fc.constantFrom(undefined, 1_000, 4_000),
          windowTokens: fc.constantFrom(20_000, 60_000, 1_000_000),
        }),
        async ({ operations, tail, ...options }) => {
          const conversation = createBoundConversation({ ...options, ...(tail !== undefined && { tail }) });
          conversation.say("Begin.");
          for (const each of operations) await conversation.play(each);
          const { refused, failed, needlesslyLost, ...report } = conversation.report();
          blocks += report.blocks;
          expect({ refused, failed, needlesslyLost }).toEqual({ refused: 0, failed: 0, needlesslyLost: 0 });
        },
      ),
      { numRuns: Number(process.env.FUZZ_RUNS ?? 60) },
    );
    expect(blocks).toBeGreaterThan(0);
  });
});
