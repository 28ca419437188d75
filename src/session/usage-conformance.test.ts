import { describe, expect, it } from "vitest";
import { createFakeClock } from "../../test/rig/fakes.ts";
import type { Message, ModelRef, Transcript, Usage } from "../transcript/message.ts";
import type { SessionProfile } from "./options.ts";
import { createSession } from "./session.ts";

const WINDOW_TOKENS = 32_000;
const TURNS = 80;
const MODEL: ModelRef = { provider: "openai", id: "gpt-4.1" };

const words = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, index) => {
    const common = COMMON[index % COMMON.length] as string;
    return index % 2 === 0 ? `w${(index * 7 + from) % 997}` : common;
  }).join(" ");

const COMMON = ["answer", "session", "window", "message", "before", "summary"];

/** What our provider counts: every text that it reads, and some tokens for each call. */
function count(messages: Transcript): number {
  let chars = 0;
  let calls = 0;
  for (const { parts } of messages)
    for (const part of parts) {
      if (part.type === "text") chars += part.text.length;
      if (part.type === "tool") calls++;
      if (part.type === "tool" && part.outcome.status === "done")
        chars += part.tool.length + JSON.stringify(part.input).length + part.outcome.output.length;
    }
  return Math.ceil(chars / CHARS_PER_TOKEN) + 5 * calls;
}

/** Both of our estimates say about 4. */
const CHARS_PER_TOKEN = 3.95;

interface Request {
  /** All that the provider read: system prompt, tools, messages. */
  readonly prompt: number;
  readonly output: number;
  /** What it had read before. */
  readonly cached: number;
  /** The prompts of the turn so far, this one too. */
  readonly turn: readonly number[];
  readonly isLast: boolean;
}

/** What a provider reports of a request. */
type Report = (request: Request) => { readonly [Field in keyof Usage]?: unknown } | undefined;

const right: Report = ({ prompt, output, cached }) => ({
  inputTokens: prompt - cached,
  outputTokens: output,
  reasoningTokens: 0,
  cacheReadTokens: cached,
  cacheWriteTokens: 0,
});
const withInput =
  (input: (request: Request) => unknown): Report =>
  (request) => ({ ...right(request), inputTokens: input(request), cacheReadTokens: 0 });
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

interface Way {
  readonly name: string;
  readonly report: Report;
  /** Names another model. */
  readonly model?: ModelRef;
  /** How often the user is told. @default once, where it is wrong by enough to matter */
  readonly told?: number;
  /** Nothing can be read of it, as of another way: with tools it is played in the long run only. */
  readonly isLikeAnother?: true;
}

const WAYS: readonly Way[] = [
  { name: "input 0", report: withInput(() => 0) },
  { name: "no input", report: withInput(() => undefined), isLikeAnother: true },
  { name: "input that is no number", report: withInput(() => Number.NaN), isLikeAnother: true },
  { name: "a negative input", report: withInput(({ prompt }) => -prompt), isLikeAnother: true },
  { name: "a text", report: withInput(({ prompt }) => String(prompt)), isLikeAnother: true },
  {
    name: "nothing but zeros",
    report: () => ({
      inputTokens: 0,
      outputTokens: 0,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    }),
  },
  { name: "what was not cached", report: withInput(({ prompt, cached }) => prompt - cached) },
  { name: "what is new", report: withInput(({ prompt, cached }) => Math.max(5, prompt - cached)) },
  { name: "the sum of the turn so far", report: withInput(({ turn }) => sum(turn)) },
  {
    name: "the sum of the turn, at its end",
    report: (request) => (request.isLast ? withInput(({ turn }) => sum(turn))(request) : undefined),
  },
  {
    name: "of another model",
    report: (request) => right({ ...request, prompt: request.prompt * 2, cached: 0 }),
    model: { provider: "acme", id: "small" },
  },
  ...[0.75, 0.5].map(
    (share): Way => ({
      name: `a prompt that the server cut to ${share} of the window`,
      report: withInput(({ prompt }) => Math.min(prompt, Math.floor(WINDOW_TOKENS * share))),
    }),
  ),
  // At most one answer too much: the next prompt shows what it was.
  {
    name: "an answer counted twice",
    report: (request) => right({ ...request, output: 2 * request.output }),
    told: 0,
  },
];

/** What is said in a turn: the user, so many calls with an output of some words, the answer. */
interface Talk {
  readonly name: string;
  readonly calls: number;
  readonly outputWords: number;
  readonly questionWords: number;
  readonly answerWords: number;
}

const TALKS: readonly Talk[] = [
  { name: "no tools", calls: 0, outputWords: 0, questionWords: 500, answerWords: 300 },
  { name: "small tool outputs", calls: 3, outputWords: 60, questionWords: 60, answerWords: 80 },
  { name: "large tool outputs", calls: 2, outputWords: 900, questionWords: 40, answerWords: 120 },
];

interface World {
  readonly profile: SessionProfile;
  /** Of the system prompt. */
  readonly outside: "none" | "known";
}

const OUTSIDE_TOKENS = 4_000;

interface Played {
  /** Requests that were larger than the window. */
  readonly over: number;
  readonly compactions: number;
  /** What the user was told about usage. */
  readonly told: readonly string[];
  /** By how much what was reported differs from what was sent. */
  readonly wrongTokens: number;
}

async function play(
  { calls, outputWords, questionWords, answerWords }: Talk,
  { report, model = MODEL }: Pick<Way, "report" | "model">,
  { profile, outside }: World,
): Promise<Played> {
  const outsideTokens = outside === "none" ? 0 : OUTSIDE_TOKENS;
  const told: string[] = [];
  let compactions = 0;
  const session = createSession(
    {
      clock: createFakeClock(),
      summarizer: {
        summarize: async () =>
          `## Goal\nanswer\n## Progress\nup to ${compactions} ${words(40, compactions * 31)}`,
      },
    },
    {
      profile,
      model: MODEL,
      backgroundCompaction: "off",
      limits: { contextTokens: WINDOW_TOKENS, outputTokens: 2_000 },
      ...(outside === "known" && { systemChars: OUTSIDE_TOKENS * 3, toolsChars: OUTSIDE_TOKENS }),
      onEvent: (event) => {
        if (event.type === "compaction_end" && event.error === undefined) compactions++;
        if (event.type === "warning" && event.code === "usage-not-believed") told.push(event.message);
      },
    },
  );
  let over = 0;
  let wrongTokens = 0;
  let before: Transcript = [];
  let isFirstOfAll = true;
  for (let turn = 0; turn < TURNS; turn++) {
    session.append({
      id: `u${turn}`,
      role: "user",
      parts: [{ type: "text", text: `q${turn} ${words(questionWords, turn)}` }],
    });
    const prompts: number[] = [];
    for (let step = 0; step <= calls; step++) {
      await session.prepare();
      const sent = session.messages();
      const prompt = outsideTokens + count(sent);
      let same = 0;
      while (same < before.length && same < sent.length && before[same] === sent[same]) same++;
      const cached = isFirstOfAll ? 0 : outsideTokens + count(sent.slice(0, same));
      prompts.push(prompt);
      if (prompt > WINDOW_TOKENS) over++;
      const isLast = step === calls;
      const id = `a${turn}-${step}`;
      const parts: Message["parts"] = isLast
        ? [{ type: "text", text: words(answerWords, turn + 9) }]
        : [
            {
              type: "tool",
              callId: `c${id}`,
              tool: "read",
              input: { path: `src/${id}.ts` },
              outcome: { status: "done", output: words(outputWords, turn * 11 + step), attachments: [] },
            },
          ];
      const written: Message = {
        id,
        role: "assistant",
        model,
        finish: isLast ? "stop" : "tool-calls",
        parts,
      };
      const output = isLast ? count([written]) : 40;
      const usage = report({ prompt, output, cached, turn: prompts, isLast });
      if (usage !== undefined)
        wrongTokens = Math.max(
          wrongTokens,
          Math.abs(prompt - tokensOf(usage.inputTokens) - tokensOf(usage.cacheReadTokens)),
        );
      session.append(usage === undefined ? written : { ...written, usage: usage as unknown as Usage });
      before = sent;
      isFirstOfAll = false;
    }
  }
  return { over, compactions, told, wrongTokens };
}

const tokensOf = (value: unknown): number => (typeof value === "number" && value > 0 ? value : 0);

const waysOf = ({ calls }: Talk): readonly Way[] =>
  calls === 0 || process.env.CARRYOVER_LONG !== undefined
    ? WAYS
    : WAYS.filter(({ isLikeAnother }) => !isLikeAnother);

describe.each(["default", "documented"] as const)("usage in the profile %s", (profile) => {
  describe.each(TALKS)("with $name", (talk) => {
    describe.each(["none", "known"] as const)("and a system prompt that is %s", (outside) => {
      const world = { profile, outside };
      const asItIs = play(talk, { report: right }, world);

      it("is believed where it is right", async () => {
        const { over, told, compactions } = await asItIs;
        expect({ over, told }).toEqual({ over: 0, told: [] });
        expect(compactions).toBeGreaterThan(0);
      });

      it.each(waysOf(talk))("is not believed where it is $name", async ({ report, model, told: times }) => {
        const expected = (await asItIs).compactions;
        const { over, told, compactions, wrongTokens } = await play(
          talk,
          { report, ...(model && { model }) },
          world,
        );
        expect(over).toBe(0);
        expect(Math.abs(compactions - expected)).toBeLessThanOrEqual(Math.max(2, expected / 3));
        // Between a twentieth and a tenth of the window either will do.
        expect(told.length).toBeLessThanOrEqual(times ?? (wrongTokens < WINDOW_TOKENS / 20 ? 0 : 1));
        expect(told.length).toBeGreaterThanOrEqual(times ?? (wrongTokens < WINDOW_TOKENS / 10 ? 0 : 1));
      });
    });
  });
});
