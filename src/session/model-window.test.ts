import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../test/rig/engine-session.ts";
import { answer, conversation, startSession, user, words } from "../../test/rig/session.ts";
import { ConfigurationError } from "../text/check.ts";
import type { Usage } from "../transcript/message.ts";

const LARGE = { provider: "acme", id: "large" };
const OTHER = { provider: "acme", id: "other" };
const NAMELESS = { status: 400, message: "Your input exceeds the context window of this model." };
const named = (windowTokens: number) => ({
  status: 400,
  message: `This model's maximum context length is ${windowTokens} tokens. However, your messages resulted in 20000 tokens.`,
});
const used = (inputTokens: number): Usage => ({
  inputTokens,
  outputTokens: 10,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

describe("what a refusal teaches", () => {
  it("is believed from the first time, however far below the assumed window", () => {
    const { session } = startSession({ limits: { contextTokens: 128_000, outputTokens: 8_000 } });
    session.observe(conversation(20));
    session.onProviderError(named(16_000));
    expect(session.status().contextWindowTokens).toBe(16_000);
  });

  it("is no window above the one that was given", () => {
    const { session } = startSession();
    session.observe(conversation(20));
    session.onProviderError(named(200_000));
    expect(session.status().contextWindowTokens).toBe(40_000);
  });

  it("without a figure, is below what was sent, and half of it at each further refusal", () => {
    const { session } = startSession({ limits: { contextTokens: 128_000, outputTokens: 8_000 } });
    session.observe(conversation(20));
    const sentTokens = session.status().tokens;
    session.onProviderError(NAMELESS);
    const first = session.status().contextWindowTokens;
    expect(first).toBeLessThan(sentTokens);
    expect(first).toBeGreaterThan(sentTokens * 0.8);
    session.onProviderError(NAMELESS);
    expect(session.status().contextWindowTokens).toBe(Math.floor(first / 2));
  });

  it("is nothing where the request was small, or the refusal is about something else", () => {
    const { session } = startSession();
    session.append(user("u", "hello"));
    session.onProviderError(NAMELESS);
    session.onProviderError({ status: 429, message: "Request too large (TPM): Limit 3000, Requested 9000." });
    expect(session.status().contextWindowTokens).toBe(40_000);
  });

  it("is kept for its model, there and back, and in the state", async () => {
    const limits = { contextTokens: 128_000, outputTokens: 8_000 };
    const { session } = startSession({ model: LARGE, limits });
    session.observe(conversation(20));
    session.onProviderError(named(16_000));
    session.useModel(OTHER, limits);
    expect(session.status().contextWindowTokens).toBe(128_000);
    session.useModel(LARGE, limits);
    expect(session.status().contextWindowTokens).toBe(16_000);
    const state = JSON.parse(JSON.stringify(session.toJSON()));
    const next = startSession({ model: LARGE, limits }).session;
    await next.restore(conversation(20), state);
    expect(next.status().contextWindowTokens).toBe(16_000);
    const damaged = startSession({ model: LARGE, limits }).session;
    await damaged.restore(conversation(20), {
      ...state,
      rest: { ...state.rest, fields: { ...state.rest.fields, windows: [{ model: "acme/large" }, 7] } },
    });
    expect(damaged.status().contextWindowTokens).toBe(128_000);
  });

  it("belongs to the model that the first answer names", () => {
    const { session } = startSession({ limits: { contextTokens: 128_000, outputTokens: 8_000 } });
    session.observe(conversation(20));
    session.onProviderError(named(16_000));
    session.append(answer("a", "ok", { model: LARGE }));
    expect(session.status().contextWindowTokens).toBe(16_000);
    session.useModel(OTHER);
    session.useModel(LARGE, { contextTokens: 128_000, outputTokens: 8_000 });
    expect(session.status().contextWindowTokens).toBe(16_000);
  });

  it("gives way to an answer to a larger request", () => {
    const { session } = startSession({ limits: { contextTokens: 128_000, outputTokens: 8_000 } });
    session.observe(conversation(20));
    session.onProviderError(NAMELESS);
    session.append(user("u", "again"));
    session.append(answer("a", "ok", { usage: used(30_000) }));
    expect(session.status().contextWindowTokens).toBe(30_000);
  });
});

describe("a limit of the input", () => {
  it("counts before the window, in both ways to find a full one", () => {
    const limits = { contextTokens: 400_000, inputTokens: 272_000, outputTokens: 128_000 };
    const { session } = startSession({ limits });
    expect(session.status().limitTokens).toBe(272_000 - 16_384);
    session.append(user("u", "go"));
    session.append(answer("a", "ok", { usage: used(273_000) }));
    expect(session.nextAction()).toMatchObject({ type: "compact" });
  });

  it("is not part of the documented limit by estimate", () => {
    const limits = { contextTokens: 400_000, inputTokens: 272_000, outputTokens: 128_000 };
    expect(startSession({ profile: "documented", limits }).session.status().limitTokens).toBe(383_616);
  });
});

describe("overflow: { auto: false }", () => {
  it("leaves reported usage alone, and the estimate in force", () => {
    const play = (options: EngineOptions) => {
      const { session } = startSession({
        limits: { contextTokens: 200_000, outputTokens: 64_000 },
        prune: "off",
        // One that is begun before it is due would hide what is due.
        backgroundCompaction: "off",
        ...options,
      });
      session.append(user("u0", words(30_000)));
      session.append(answer("a0", words(30_000), { usage: used(170_000) }));
      session.append(user("u1", "next"));
      return session;
    };
    expect(play({}).nextAction()).toMatchObject({ type: "compact", trigger: "overflow" });
    const off = play({ overflow: { auto: false } });
    expect(off.nextAction()).toMatchObject({ type: "none", reason: "under-limit" });
    off.append(answer("a1", "ok", { usage: used(201_000) }));
    expect(off.nextAction()).toMatchObject({ type: "compact", trigger: "threshold" });
  });
});

describe("limits that cannot be used", () => {
  const bad = {
    contextTokens: Number.NaN,
    outputTokens: -3,
    inputTokens: "90000",
    outputToken: 4_000,
  } as unknown as { contextTokens: number };
  const PROBLEMS = [
    "limits.contextTokens is NaN; give a number of tokens, 0 when unknown",
    "limits.outputTokens is -3; give a number of tokens, 0 when unknown",
    'limits.inputTokens is "90000"; give a number of tokens, 0 when unknown',
    "limits.outputToken is not an option; did you mean outputTokens?",
  ];
  const problemsOf = (work: () => unknown): readonly string[] => {
    try {
      work();
    } catch (error) {
      if (error instanceof ConfigurationError) return error.problems;
    }
    return [];
  };

  it("are refused all at once, by createSession and by useModel", () => {
    expect(problemsOf(() => startSession({ limits: bad }))).toEqual(PROBLEMS);
    const { session } = startSession();
    expect(problemsOf(() => session.useModel({ provider: "a" } as never, bad))).toHaveLength(5);
    expect(session.status().contextWindowTokens).toBe(40_000);
  });

  it("mean what leaving them out means where they are undefined", () => {
    const none = startSession({ limits: undefined } as unknown as EngineOptions).session.status();
    expect(none).toMatchObject({ limitTokens: 8_000, source: "max_tokens" });
    const limits = { contextTokens: 100_000, outputTokens: undefined, inputTokens: undefined };
    const some = startSession({ limits } as unknown as EngineOptions).session.status();
    expect(some).toMatchObject({ contextWindowTokens: 100_000, limitTokens: 83_616 });
    const { session } = startSession();
    session.useModel(LARGE, limits as unknown as { contextTokens: number });
    expect(session.status().limitTokens).toBe(83_616);
  });
});
