import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anthropic } from "../../../src/formats/wires/anthropic/anthropic.ts";
import { asArray, asObject, type UnknownObject } from "../../../src/text/unknown-value.ts";
import { runs } from "../runs.ts";
import { createThinkingCheck, isThought } from "./bound-thinking.ts";
import {
  playThinking,
  randomThinkingScript,
  type ThinkingMove,
  type ThinkingPlayOptions,
} from "./thinking-conversation.ts";

type Encode = NonNullable<ThinkingPlayOptions["encode"]>;

const plain: Encode = (session, request) => anthropic.encode(session.messages(), request);

/** The body without the thoughts that a function names. */
function without(body: UnknownObject, isGone: (signature: string, index: number) => boolean): UnknownObject {
  const messages = asArray(body.messages).map((message, index) => {
    const { content } = asObject(message);
    const isLeft = (block: UnknownObject): boolean =>
      !isThought(block) || !isGone(String(block.signature ?? block.data), index);
    return Array.isArray(content) ? { ...asObject(message), content: content.filter(isLeft) } : message;
  });
  return { ...body, messages };
}

/** A client that remembers what each thought was bound to, and leaves it out for good once that has changed. */
function carefulClient(): Encode {
  const { prefixes } = createThinkingCheck();
  const boundTo = new Map<string, string | undefined>();
  const gone = new Set<string>();
  let lastAt: string | undefined;
  return (session, request) => {
    const body = plain(session, request);
    const places = prefixes(body);
    const clean = without(body, (signature) => {
      if (!boundTo.has(signature)) boundTo.set(signature, lastAt);
      if (!places.includes(boundTo.get(signature) ?? "")) gone.add(signature);
      return gone.has(signature);
    });
    lastAt = places.at(-1);
    return clean;
  };
}

const step: ThinkingMove = { type: "step", thoughts: ["told", "redacted", "empty"], outputs: [100, 2_000] };
const LOOP: readonly ThinkingMove[] = [step, step, step, { type: "answer", thoughts: ["told"] }];

describe("a conversation of thoughts against the check", () => {
  it("has every thought again where nothing is edited", async () => {
    const report = await playThinking([...LOOP, ...LOOP, { type: "restart" }, step]);
    expect(report).toEqual({
      requests: 9,
      refusals: [],
      lostNeedlessly: [],
      thoughtsMade: 23,
      thoughtsSent: 20,
      thoughtsBehindEdits: 0,
      thoughtsDropped: 0,
      batches: 0,
    });
  });

  it("finds thoughts that are lost without need", async () => {
    const encode: Encode = (session, request) => without(plain(session, request), (_, index) => index < 3);
    const { refusals, lostNeedlessly } = await playThinking(LOOP, { encode });
    expect(refusals).toEqual([]);
    expect(lostNeedlessly.length).toBeGreaterThan(0);
  });

  it("is refused by a new account where thoughts stand behind an edit, and not by an old one", async () => {
    let count = 0;
    const encode: Encode = (session, request) => {
      const body = plain(session, request);
      const [first, ...others] = asArray(body.messages);
      const content = [{ type: "text", text: `Edited ${++count} times.` }];
      return { ...body, messages: [{ ...asObject(first), content }, ...others] };
    };
    const refused = await playThinking(LOOP, { encode });
    expect(refused.refusals).toMatchObject([expect.stringContaining("bound to a different conversation")]);
    expect(refused.requests).toBe(2);
    expect(await playThinking(LOOP, { encode, account: "old" })).toMatchObject({ refusals: [], requests: 4 });
    const dropping = await playThinking(LOOP, { encode, behavior: "drop_block" });
    expect(dropping).toMatchObject({ refusals: [], lostNeedlessly: [], thoughtsBehindEdits: 9 });
    expect(dropping.thoughtsDropped).toBe(3 + 6 + 9);
  });

  it("says nothing of what is done by a client that leaves out what stands behind an edit, and no more", async () => {
    const property = fc.asyncProperty(
      randomThinkingScript,
      fc.constantFrom("new" as const, "old" as const),
      fc.constantFrom(undefined, "error" as const, "drop_block" as const),
      async (script, account, behavior) => {
        const options = { account, ...(behavior && { behavior }), encode: carefulClient() };
        const { refusals, lostNeedlessly } = await playThinking(script, options);
        expect({ refusals, lostNeedlessly }).toEqual({ refusals: [], lostNeedlessly: [] });
      },
    );
    await fc.assert(property, { numRuns: runs(500, 30) });
  }, 120_000);
});
