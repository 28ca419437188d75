import { existsSync } from "node:fs";
import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UnknownObject } from "../../../src/text/unknown-value.ts";
import { createSeededRandom, type SeededRandom } from "../random-history/history.ts";
import { runs } from "../runs.ts";
import { type Account, BINDING_BETA, createThinkingCheck } from "./bound-thinking.ts";

const founders = resolve(import.meta.dirname, "../../../../shared/models/bound-thinking.mjs");
const isThere = existsSync(founders);
if (!isThere) console.log("founders-check: skipped, ../shared/models/bound-thinking.mjs is not there");

/** One check, and a conversation that it signed. */
interface Side {
  /** What is said of a request: its status, its words, what was dropped and what is reported. */
  readonly read: (body: Body, how: How) => { readonly said: unknown; readonly taken: unknown };
  readonly sign: (taken: unknown, content: Block[]) => Block[];
  readonly compact: (taken: unknown, summary: string) => Block;
  body: Body;
}

type Block = Record<string, unknown>;
interface Body extends UnknownObject {
  system: string;
  model: string;
  tools: Block[];
  messages: { role: string; content: string | Block[] }[];
}
interface How {
  readonly beta: string;
  readonly endpoint: "messages" | "count_tokens" | "batches";
  readonly isPreserved: boolean;
}

const talk = (): Body => ({
  model: "claude-opus-5-5",
  system: "You are S.",
  tools: [{ name: "read" }],
  messages: [{ role: "user", content: "go" }],
});

function ours(account: Account): Side {
  const check = createThinkingCheck({ account });
  return {
    body: talk(),
    read(body, how) {
      const taken = check.read(body, how);
      if (taken.status === 400) return { said: taken.error, taken: undefined };
      const { body: shown, inputTransformations, dropped } = taken;
      return { said: { shown: withoutSignatures(shown), inputTransformations, dropped }, taken };
    },
    sign: (taken, content) => check.sign(taken as Parameters<typeof check.sign>[0], content),
    compact: (taken, words) => ({ ...check.compact(taken as Parameters<typeof check.compact>[0], words) }),
  };
}

async function theirs(account: Account): Promise<Side> {
  const { createThinkingCheck: create } = await import(founders);
  const check = create({ account });
  return {
    body: talk(),
    read(body, { beta, endpoint, isPreserved: preserved }) {
      const taken = check.read(body, { beta, endpoint, preserved });
      if (taken.status === 400) return { said: taken.error, taken: undefined };
      const { body: shown, input_transformations: inputTransformations, dropped } = taken;
      return { said: { shown: withoutSignatures(shown), inputTransformations, dropped }, taken };
    },
    sign: (taken, content) => check.sign(taken, content),
    compact: (taken, words) => check.compact(taken, words),
  };
}

/** Theirs signs redacted thoughts in a field that the real ones do not have. */
const SEALS = ["signature", "data"];

function withoutSignatures(body: UnknownObject): unknown {
  return JSON.parse(JSON.stringify(body, (key, value) => (SEALS.includes(key) ? undefined : value)));
}

/** An answer, a request that says what happens to what does not fit, or a change of the conversation. */
const CHANGES: readonly ((body: Body, random: SeededRandom) => unknown)[] = [
  (body, random) => Object.assign(anyBlock(body, random), { content: "[cleared]" }),
  (body, random) => Object.assign(anyBlock(body, random), { signature: "damaged", data: "damaged" }),
  (body, random) => Object.assign(anyBlock(body, random), { cache_control: { type: "ephemeral" } }),
  (body, random) => anyContent(body, random).splice(0, 1),
  (body, random) => anyContent(body, random).reverse(),
  (body, random) => anyContent(body, random).push({ type: "text", text: "reminder" }),
  (body, random) => Object.assign(body, { system: random.oneOf(["You are S.", "You are T."]) }),
  (body, random) => body.tools.push({ name: "late", defer_loading: random.chance(50) }),
  (body, random) => body.messages.splice(random.below(body.messages.length), 1 + random.below(3)),
  (body, random) => Object.assign(body, { model: random.oneOf(["claude-opus-5-5", "claude-opus-5"]) }),
  (body, random) => {
    const behind = random.below(body.messages.length);
    body.messages = [{ role: "user", content: "own summary" }, ...body.messages.slice(behind)];
  },
  (body, random) => {
    const gone = random.below(body.messages.length);
    for (const { content } of body.messages.slice(0, gone))
      if (typeof content !== "string") content.splice(0, content[0]?.type === "thinking" ? 1 : 0);
  },
];

function anyContent({ messages }: Body, random: SeededRandom): Block[] {
  const lists = messages.flatMap(({ content }) => (typeof content === "string" ? [] : [content]));
  return random.oneOf([[], ...lists]);
}

function anyBlock(body: Body, random: SeededRandom): Block {
  return random.oneOf([{}, ...anyContent(body, random)]);
}

function answerOf(random: SeededRandom, step: number): Block[] {
  const thoughts = Array.from({ length: random.below(3) }, (): Block => {
    const isRedacted = random.chance(20);
    return isRedacted ? { type: "redacted_thinking" } : { type: "thinking", thinking: "" };
  });
  const calls = Array.from({ length: 1 + random.below(3) }, (_, call): Block => {
    return { type: "tool_use", id: `c${step}_${call}`, name: "read", input: { path: `f${call}` } };
  });
  const between: Block[] = random.chance(30)
    ? [{ type: "text", text: `t${step}` }, { type: "thinking" }]
    : [];
  const summary: Block[] = random.chance(4) ? [{ type: "compaction", content: "sum" }] : [];
  return [...thoughts, ...summary, ...between, ...calls];
}

/** Plays one random conversation against both, and gives the first request of which they do not say the same. */
function play(sides: readonly Side[], seed: number, steps: number): unknown {
  const random = createSeededRandom(seed);
  for (let step = 0; step < steps; step++) {
    const behavior = random.oneOf([undefined, undefined, "error", "drop_block"]);
    const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: behavior } };
    const how: How = {
      beta: random.chance(behavior === undefined ? 30 : 90) ? BINDING_BETA : "",
      endpoint: random.oneOf(["messages", "messages", "count_tokens", "batches"]),
      isPreserved: random.chance(90),
    };
    const [dice, change] = [random.below(1e6), random.below(100)];
    const reads = sides.map((side) => {
      if (change < 45) CHANGES[change % CHANGES.length]?.(side.body, createSeededRandom(dice));
      return side.read(behavior === undefined ? side.body : { ...side.body, thinking }, how);
    });
    const [first, second] = reads.map(({ said }) => JSON.stringify(said));
    if (first !== second) return { step, how, first, second };
    for (const [index, { taken }] of reads.entries()) {
      const side = sides[index];
      if (side === undefined || taken === undefined) continue;
      const answering = createSeededRandom(dice);
      const cut = 1 + answering.below(side.body.messages.length);
      const cutBody = { ...side.body, messages: side.body.messages.slice(0, cut) };
      const summed = answering.chance(12) ? side.read(cutBody, how).taken : undefined;
      const content = side.sign(taken, answerOf(answering, step));
      const results = content
        .filter(({ type }) => type === "tool_use")
        .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: `output ${step}` }));
      side.body = structuredClone({
        ...side.body,
        messages: [
          ...(summed === undefined
            ? side.body.messages
            : [
                { role: "assistant", content: [side.compact(summed, "summary")] },
                ...side.body.messages.slice(cut),
              ]),
          { role: "assistant", content },
          { role: "user", content: results },
        ],
      });
    }
  }
  return undefined;
}

describe.skipIf(!isThere)("our check and the founders'", () => {
  it.each(["new", "old"] as const)(
    "say the same of every request of an account that is %s",
    async (account) => {
      const property = fc.asyncProperty(fc.nat(), fc.integer({ min: 1, max: 14 }), async (seed, steps) => {
        expect(play([ours(account), await theirs(account)], seed, steps)).toBeUndefined();
      });
      await fc.assert(property, { numRuns: runs(2_000, 200) });
    },
  );
});
