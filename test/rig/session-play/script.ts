import fc from "fast-check";
import type { NextActionOptions } from "../../../src/session/action.ts";

/** What is done with a session, as plain data: the same script can be played in many ways, and in another process. */
export interface Script {
  readonly profile: "default" | "documented";
  readonly contextTokens: number;
  readonly summarizer: SummarizerKind;
  readonly journal: "none" | "all" | "state";
  readonly archive: boolean;
  readonly hook: "none" | "context" | "veto" | "throws";
  readonly stage: boolean;
  readonly background: "as-profile" | "on" | "off";
  readonly toolSummaries: "as-profile" | "off" | "heuristic" | "llm";
  readonly representation: "pivot" | "user-summary";
  /** `early`: at marks that a short script reaches. */
  readonly prunes: "early" | "by-default" | "off";
  /** Which of the models is given, if the answers do not tell it. */
  readonly model: 0 | 1 | "from-answers";
  readonly keepsTool: boolean;
  readonly pin: boolean;
  /** Providers compact by themselves, and the host does; else such messages are steps. */
  readonly hasProviderBlock: boolean;
  readonly hasMarkers: boolean;
  /** The messages say when they were made, by the clock of the session. */
  readonly isDated: boolean;
  /** The host says what it sends. */
  readonly saysSent: boolean;
  /** Whether it prepares the session wherever a step says so, or for every eighth step alone. */
  readonly prepares: "often" | "seldom";
  readonly steps: readonly Step[];
}

/** How summaries are written: not at all, well, slowly, or in one of the ways in which that goes wrong. */
export type SummarizerKind = (typeof SUMMARIZERS)[number];
export const SUMMARIZERS = [
  "none",
  "good",
  "slow",
  "at-times-failing",
  "failing",
  "nonsense",
  "too-long",
  "hanging",
  "by-provider",
] as const;

export interface Step {
  readonly event: Event;
  /** How the session is prepared for the next request, if it is. */
  readonly prepare: Prepare | undefined;
  /** What passes until the next step. */
  readonly pauseMs: number;
  /** Everything that was asked for has come, and the process may end here. */
  readonly isEnd: boolean;
  /** What somebody wants to know before the step. */
  readonly asks: readonly Ask[];
  /** How far a clock may be set back here. */
  readonly setBackMs: number;
}

/** By hand: an action after another. */
export interface Prepare extends NextActionOptions {
  readonly by: "hand" | "session";
}

export type Ask =
  | { readonly type: "next-action"; readonly asked: NextActionOptions }
  | { readonly type: "messages" | "status" | "state" | "edits" | "transcript" | "ledger" };

/** What comes in. */
export type Event =
  | { readonly type: "messages"; readonly messages: readonly MessageSpec[] }
  /** The owner of the list changes what it had. */
  | { readonly type: "rewrite"; readonly how: "change" | "remove" | "cut"; readonly back: number }
  | { readonly type: "error"; readonly index: number }
  | { readonly type: "empty-answer"; readonly isFull: boolean }
  | { readonly type: "undo" }
  | { readonly type: "set-auto"; readonly on: boolean }
  | { readonly type: "model"; readonly index: number }
  | { readonly type: "overhead"; readonly chars: number }
  | { readonly type: "management"; readonly index: number }
  | { readonly type: "settled" };

/** A message of the script. */
export interface MessageSpec {
  readonly kind: (typeof KINDS)[number];
  readonly words: number;
  readonly calls: number;
  readonly usage: (typeof USAGES)[number];
  readonly thinks: boolean;
}

/** The most usual ones several times. */
const KINDS = [
  ...["step", "step", "step", "step", "step", "request", "request", "answer", "answer"],
  ...["pending", "resolve", "unfinished", "media", "provider-block", "marker", "summary", "note"],
] as const satisfies readonly string[] as readonly MessageKind[];
export type MessageKind =
  /** A call with its result. */
  | "step"
  | "request"
  | "answer"
  /** A call without a result, and the result of one that waited. */
  | "pending"
  | "resolve"
  | "unfinished"
  | "media"
  /** A provider's own compaction. */
  | "provider-block"
  /** The host asks for a compaction, and its summary. */
  | "marker"
  | "summary"
  /** What a stage of the user's own takes out. */
  | "note";

/** The most usual ones several times. `right`: as large as what was sent. */
const USAGES = ["right", "right", "right", "absent", "absent", "zero", "half", "cumulative", "over"] as const;

export const ERRORS: readonly unknown[] = [
  { status: 400, message: "prompt is too long: 12000 tokens > 10000 maximum" },
  { status: 400, message: "This model's maximum context length is 8192 tokens" },
  { status: 400, message: "input length and `max_tokens` exceed context limit: 9000 + 32000 > 10000" },
  { status: 413, message: "Request exceeds the maximum size" },
  { status: 429, message: "slow down" },
  {
    status: 400,
    message: "messages.1.content.0: Invalid `signature` in `thinking` block",
  },
  { message: "ECONNRESET" },
];

export const MODELS = [
  // Refuses thoughts behind an edit; the second does not.
  { provider: "anthropic", id: "claude-opus-5-5" },
  { provider: "anthropic", id: "claude-sonnet-4-5" },
  { provider: "openai", id: "gpt-5" },
  { provider: "somebody", id: "unknown-1" },
] as const;

export const MANAGEMENTS = [{}, { acts: "clears" }, { acts: "compacts" }, { reads: ["anthropic"] }] as const;

const NO_DEMANDS = ["none", "none", "none", "none", "none", "none", "none"] as const;

const asked = {
  moment: fc.constantFrom("before-call" as const, "after-turn" as const, "after-turn" as const),
  demand: fc.constantFrom(...NO_DEMANDS, "manual" as const),
  idleMs: fc.constantFrom(0, 0, 0, 600_000),
};

const anyAsk: fc.Arbitrary<Ask> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("next-action" as const), asked: fc.record(asked) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("messages", "status", "state", "edits", "transcript", "ledger"),
    }),
  },
);

const anyMessage: fc.Arbitrary<MessageSpec> = fc.record({
  kind: fc.constantFrom(...KINDS),
  words: fc.constantFrom(0, 5, 60, 300, 300, 300, 900, 900, 2_500, 10_000),
  calls: fc.constantFrom(1, 1, 1, 3),
  usage: fc.constantFrom(...USAGES),
  thinks: fc.boolean(),
});

const messages: fc.Arbitrary<Event> = fc.record({
  type: fc.constant("messages" as const),
  messages: fc.array(anyMessage, { minLength: 1, maxLength: 4 }),
});

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  { weight: 24, arbitrary: messages },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant("rewrite" as const),
      how: fc.constantFrom("change" as const, "remove" as const, "cut" as const),
      back: fc.integer({ min: 1, max: 12 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("error" as const), index: fc.nat(ERRORS.length - 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("empty-answer" as const), isFull: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.constant({ type: "undo" as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("set-auto" as const), on: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("model" as const), index: fc.nat(MODELS.length - 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("overhead" as const),
      chars: fc.constantFrom(0, 4_000, 12_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("management" as const),
      index: fc.nat(MANAGEMENTS.length - 1),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "settled" as const }) },
);

const anyStep: fc.Arbitrary<Step> = fc.record({
  event: anyEvent,
  prepare: fc.option(
    fc.record({ by: fc.constantFrom("hand" as const, "hand" as const, "session" as const), ...asked }),
    { nil: undefined, freq: 5 },
  ),
  pauseMs: fc.constantFrom(0, 0, 1_000, 30_000, 900_000),
  isEnd: fc.boolean(),
  asks: fc.array(anyAsk, { maxLength: 4 }),
  setBackMs: fc.constantFrom(0, 0, 1, 60_000, 3_600_000),
});

/** Any script with these settings. */
export function anyScript(given: Partial<Script> = {}): fc.Arbitrary<Script> {
  return fc
    .record<Script>({
      profile: fc.constantFrom("default", "documented"),
      contextTokens: fc.constantFrom(10_000, 24_000, 60_000),
      summarizer: fc.constantFrom(...SUMMARIZERS),
      journal: fc.constantFrom("none", "all", "state"),
      archive: fc.boolean(),
      hook: fc.constantFrom("none", "none", "none", "context", "veto", "throws"),
      stage: fc.constantFrom(false, false, true),
      background: fc.constantFrom("as-profile", "on", "off"),
      toolSummaries: fc.constantFrom("as-profile", "off", "heuristic", "llm"),
      representation: fc.constantFrom("pivot", "pivot", "user-summary"),
      prunes: fc.constantFrom("early", "early", "by-default", "off"),
      model: fc.constantFrom<Script["model"]>(0, 1, "from-answers"),
      keepsTool: fc.constantFrom(false, false, true),
      pin: fc.constantFrom(false, false, true),
      hasProviderBlock: fc.constantFrom(false, false, true),
      hasMarkers: fc.constantFrom(false, false, false, true),
      isDated: fc.boolean(),
      saysSent: fc.boolean(),
      prepares: fc.constantFrom("often", "often", "seldom"),
      steps: fc.array(anyStep, { minLength: 4, maxLength: 50, size: "max" }),
    })
    .map((script) => ({ ...script, ...given }));
}

/** A long talk of steps of some size, prepared at its end alone: what is asked in between has no other reason. */
export function longTalk(): fc.Arbitrary<Script> {
  return fc
    .record({
      contextTokens: fc.constantFrom(16_000, 32_000, 64_000, 200_000),
      words: fc.array(fc.integer({ min: 50, max: 1_500 }), { minLength: 20, maxLength: 80, size: "max" }),
    })
    .map(({ contextTokens, words }): Script => {
      const asked = { moment: "after-turn" } as const;
      const steps = words.map((count, index): Step => {
        const spec: MessageSpec = {
          kind: index % 9 === 0 ? "request" : "step",
          words: index % 9 === 0 ? 20 : count,
          calls: 1,
          usage: "absent",
          thinks: false,
        };
        return {
          event: { type: "messages", messages: [spec] },
          prepare: index === words.length - 1 ? { by: "hand", ...asked } : undefined,
          pauseMs: 0,
          isEnd: false,
          asks: [{ type: "next-action", asked }],
          setBackMs: 0,
        };
      });
      return { ...LONG_TALK, contextTokens, steps };
    });
}

const LONG_TALK: Omit<Script, "contextTokens" | "steps"> = {
  profile: "default",
  summarizer: "none",
  journal: "none",
  archive: false,
  hook: "none",
  stage: false,
  background: "as-profile",
  toolSummaries: "as-profile",
  representation: "pivot",
  prunes: "by-default",
  model: 1,
  keepsTool: false,
  pin: false,
  hasProviderBlock: false,
  hasMarkers: false,
  isDated: false,
  saysSent: false,
  prepares: "often",
};
