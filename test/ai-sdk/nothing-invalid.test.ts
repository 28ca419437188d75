import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RECORDED_APIS, type RecordedApi } from "../rig/ai-sdk-requests.ts";
import { runs } from "../rig/runs.ts";
import { type PlayOptions, playConversation } from "./harness/play-conversation.ts";
import {
  anyConversation,
  type Call,
  type Conversation,
  longConversation,
  type Turn,
} from "./harness/random-conversation.ts";

// The 10,000 on each API: `npm run fuzz:ai-sdk`.
describe.each(RECORDED_APIS)("conversations of many turns with %s", (api) => {
  it("no request has a fault, none is refused for its shape, no two answers stand in a row", () =>
    holds(anyConversation, { api, over: "function" }, runs(80, 10)));

  it("nor without us in a window without end: what is found above is ours", () =>
    holds(
      anyConversation.map((conversation) => ({ ...conversation, callIds: "fresh" as const })),
      { api, over: "function", middleware: "none" },
      runs(20, 5),
    ));
});

const IS_LONG = process.env.CARRYOVER_LONG !== undefined;
const HTTP_TURNS = IS_LONG ? 25 : 10;

describe.each(RECORDED_APIS)(`conversations of ${HTTP_TURNS} turns over HTTP with %s`, (api) => {
  it(
    "nothing is refused for its shape",
    () => holds(longConversation(HTTP_TURNS), { api, over: "http" }, IS_LONG ? 60 : 1),
    IS_LONG ? 1_800_000 : 120_000,
  );
});

describe("what was refused once", () => {
  const SMALL: Conversation = {
    windowTokens: 2_000,
    windowIs: "enforced",
    prune: "on",
    isThinking: false,
    isStreamed: false,
    isStored: false,
    callIds: "fresh",
    turns: [],
  };
  const turn = (...calls: readonly Partial<Call>[]): Turn => ({
    question: "What is next?",
    file: "none",
    steps: calls.map((call) => ({ text: "I look.", calls: [{ ...READ, ...call }], searches: [] })),
    answer: "That was it.",
  });
  const READ: Call = { tool: "read", file: 0, chars: 500, isFailed: false, isApproved: true };

  it("a user's words right behind a tool result, by strict chat templates", async () => {
    const last: Turn = { ...turn({ chars: 0 }), file: "pdf" };
    const { problems, summaries } = await playConversation(
      { ...SMALL, windowTokens: 2_500, turns: [turn({ tool: "screenshot" }), last] },
      { api: "openai-chat", over: "function" },
    );
    expect([problems, summaries > 0]).toEqual([[], true]);
  });
});

it("counts what the provider found itself: nothing is sent that does not fit", async () => {
  const searches = [6_000];
  const turns = Array.from({ length: 8 }, (_, index): Turn => {
    const calls: readonly Call[] = [
      { tool: "read", file: index, chars: 20, isFailed: false, isApproved: true },
    ];
    const step = { text: "I searched.", calls, searches };
    return { question: "And now?", file: "none", steps: [step], answer: "Found." };
  });
  const { tooLong, summaries, problems } = await playConversation(
    {
      windowTokens: 12_000,
      windowIs: "enforced",
      prune: "off",
      isThinking: false,
      isStreamed: false,
      isStored: false,
      callIds: "fresh",
      turns,
    },
    { api: "anthropic", over: "function" },
  );
  expect({ tooLong, problems }).toEqual({ tooLong: 0, problems: [] });
  expect(summaries).toBeGreaterThan(0);
});

async function holds(
  conversations: fc.Arbitrary<Conversation>,
  options: PlayOptions & { readonly api: RecordedApi },
  numRuns: number,
): Promise<void> {
  const property = fc.asyncProperty(conversations, async (conversation) => {
    const { problems } = await playConversation(conversation, options);
    expect(problems).toEqual([]);
  });
  await fc.assert(property, { numRuns });
}
