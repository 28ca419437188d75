import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer, type FakeAnswer } from "../../test/rig/fakes.ts";
import { answer, conversation, SUMMARY, startSession, user, words } from "../../test/rig/session.ts";
import { createMemoryJournal } from "../stores/memory/journal.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { SessionOptions } from "./options.ts";
import { maxCompactionRecoveries } from "./recovery.ts";
import { createSession, type Session } from "./session.ts";

const OVERFLOW = { status: 400, message: "prompt is too long: 41000 tokens > 40000 maximum" };
const RATE = {
  status: 429,
  message: "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41234.",
};

function setUp(options: SessionOptions = {}, ...answers: readonly FakeAnswer[]) {
  const summarizer = createFakeSummarizer(...(answers.length === 0 ? [SUMMARY] : answers));
  const journal = createMemoryJournal();
  const compaction = { reserveTokens: 4_000 } as const;
  return { ...startSession({ compaction, ...options }, { summarizer, journal }), summarizer, journal };
}

/** Runs the session until the caller has something to do, and gives the steps that were taken. */
async function settle(
  session: Session,
): Promise<{ readonly steps: readonly string[]; readonly end: string }> {
  const steps: string[] = [];
  for (;;) {
    const action = session.nextAction();
    if (!("version" in action)) return { steps, end: action.type };
    await session.run(action);
    steps.push(action.type === "recover" ? action.step : action.type);
  }
}

describe("a refused request", () => {
  it("is compacted once by the model, then sent again", async () => {
    const { session, events, summarizer } = setUp();
    session.observe([...conversation(12, 1_500), user("last", "and now?")]);
    session.onProviderError(OVERFLOW);
    expect(await settle(session)).toEqual({ steps: ["compact"], end: "retry" });
    expect(summarizer.calls).toHaveLength(1);
    expect(events.filter(({ type }) => type.startsWith("compaction"))).toMatchObject([
      { type: "compaction_start", trigger: "context_limit_recovery", auto: true },
      { type: "compaction_end", trigger: "context_limit_recovery" },
    ]);
    expect(session.messages().at(-1)?.id).toBe("last");
    expect(findFaults(session.messages())).toEqual([]);
  });

  it("climbs from the gentlest step, each once, and stops at the first that fits", async () => {
    const { session } = setUp();
    const outputs = Array.from(
      { length: 4 },
      (_, index): Transcript => [
        user(`u${index}`, "next"),
        {
          id: `s${index}`,
          role: "assistant",
          parts: [
            {
              type: "tool",
              callId: `c${index}`,
              tool: "bash",
              input: {},
              outcome: { status: "done", output: words(7_000, `w${index}`), attachments: [] },
            },
          ],
        },
      ],
    ).flat();
    session.observe([...outputs, user("last", "and now?")]);
    session.onProviderError({ status: 400, message: "prompt is too long: 20000 tokens > 12000 maximum" });
    const { steps, end } = await settle(session);
    expect(steps[0]).toBe("prune");
    expect(new Set(steps).size).toBe(steps.length);
    expect(end).toBe("retry");
  });

  it(`maxCompactionRecoveries is ${maxCompactionRecoveries}: without new output the model is asked once, then it is cut mechanically`, async () => {
    const { session, summarizer } = setUp();
    session.observe([...conversation(12, 1_500), user("last", words(2_000, "please"))]);
    session.onProviderError(OVERFLOW);
    await settle(session);
    session.onProviderError(OVERFLOW);
    const second = await settle(session);
    expect(second.end).toBe("retry");
    expect(second.steps).not.toContain("compact");
    expect(summarizer.calls).toHaveLength(1);
  });

  it("when nothing more can be taken away the first error reaches the caller, with what to do", async () => {
    const { session } = setUp();
    session.observe([...conversation(12, 1_500), user("last", "and now?")]);
    const first = new Error(OVERFLOW.message);
    session.onProviderError(first);
    let refusals = 1;
    while ((await settle(session)).end === "retry") {
      session.onProviderError(OVERFLOW);
      refusals++;
    }
    expect(refusals).toBeLessThan(8);
    const action = session.nextAction();
    expect(action).toMatchObject({ type: "give-up", reason: "still-refused" });
    expect(action.type === "give-up" && action.error).toBe(first);
    expect(action.type === "give-up" && action.message).toMatch(
      /Start a new session.*Tried: .*The provider said/s,
    );
  });

  it("an answer of the model ends the recovery, and the next refusal starts anew", async () => {
    const { session, summarizer } = setUp();
    session.observe([...conversation(12, 1_500), user("last", "and now?")]);
    session.onProviderError(OVERFLOW);
    await settle(session);
    session.append(answer("fine", words(3_000)));
    session.append(user("more", words(12_000, "please")));
    expect(session.nextAction().type).not.toBe("retry");
    session.onProviderError(OVERFLOW);
    await settle(session);
    expect(summarizer.calls.length).toBeGreaterThan(1);
  });

  it("a summary that fails does not count, and the retries go on without blind retries", async () => {
    const { session, summarizer } = setUp({}, new Error("503"), new Error("503"));
    session.observe([...conversation(12, 1_500), user("last", "and now?")]);
    session.onProviderError(OVERFLOW);
    expect((await settle(session)).end).toBe("retry");
    expect(summarizer.calls).toHaveLength(2);
    expect(session.ledger().at(-1)).toMatchObject({ outcome: "applied", degraded: true });
  });

  it("a single message over the window is cut, head and tail", async () => {
    const { session } = setUp();
    session.append(user("u1", `BEGIN ${words(90_000)} END`));
    session.onProviderError(OVERFLOW);
    const { steps, end } = await settle(session);
    expect(steps.at(-1)).toBe("cut-oversized");
    expect(end).toBe("retry");
    expect(session.status().estimate.high).toBeLessThanOrEqual(36_000);
    expect(JSON.stringify(session.messages())).toMatch(/BEGIN.*truncated.*END/);
  });

  it("partial output of the failed attempt does not stay, but what a tool has done does", async () => {
    const { session } = setUp();
    const done: Message = {
      id: "s1",
      role: "assistant",
      error: { name: "Overflow", text: "too long" },
      parts: [
        {
          type: "tool",
          callId: "c1",
          tool: "bash",
          input: {},
          outcome: { status: "done", output: "deployed", attachments: [] },
        },
      ],
    };
    const partial = answer("p1", "I will now", { unfinished: true });
    session.observe([...conversation(12, 1_500), user("last", "deploy"), done, partial]);
    session.onProviderError(OVERFLOW);
    const { steps } = await settle(session);
    expect(steps[0]).toBe("failed-attempt");
    const shown = JSON.stringify(session.messages());
    expect(shown).toContain("deployed");
    expect(shown).not.toContain("I will now");
  });

  it("what the recovery did is in the journal and survives a restart", async () => {
    const { session, journal } = setUp();
    const messages = [...conversation(12, 1_500), user("last", "and now?")];
    session.observe(messages);
    session.onProviderError(OVERFLOW);
    await settle(session);
    const again = createSession(
      { clock: createFakeClock(), journal },
      { limits: { contextTokens: 40_000, outputTokens: 4_000 } },
    );
    expect(await again.restore(messages)).toMatchObject({ batches: 1, dropped: 0, unreadable: 0 });
    expect(again.messages()).toEqual(session.messages());
  });

  it("RELIABILITY 1.6: takes the smaller window that the provider names, but not an absurd one", () => {
    const { session } = setUp();
    session.append(user("u1", "hello"));
    session.onProviderError({
      status: 400,
      message: "maximum context length is 3 tokens, you requested 900 tokens",
    });
    expect(session.status().contextWindowTokens).toBe(40_000);
    session.onProviderError({ status: 400, message: "prompt is too long: 40000 tokens > 32000 maximum" });
    expect(session.status().contextWindowTokens).toBe(32_000);
  });

  it("lowers the output first when input and output together are too long, then climbs", async () => {
    const { session } = setUp();
    session.observe([...conversation(8, 1_000), user("last", "and now?")]);
    const error = {
      status: 400,
      message:
        "input length and `max_tokens` exceed context limit: 30000 + 32000 > 40000, decrease input length or `max_tokens`",
    };
    expect(session.onProviderError(error)).toMatchObject({ class: "context_overflow_output" });
    const action = session.nextAction();
    expect(action).toMatchObject({ type: "lower-output", maxOutputTokens: 9_000 });
    expect(await session.run(action)).toEqual({ status: "for-the-caller" });
    expect(session.messages()).toHaveLength(17);
    session.onProviderError(error);
    expect((await settle(session)).steps.length).toBeGreaterThan(0);
  });

  it("drops the oldest media when there are too many bytes, then all, then gives up; text is not touched", async () => {
    const { session, summarizer } = setUp();
    const shot = (id: string): Message => ({
      id,
      role: "user",
      parts: [
        { type: "text", text: `look at ${id}` },
        { type: "file", mime: "image/png", filename: `${id}.png` },
      ],
    });
    session.observe([shot("one"), answer("a1", "seen"), shot("two")]);
    const error = { status: 413, message: "Request exceeds the maximum size of 32 MB" };
    expect(session.onProviderError(error)).toMatchObject({ class: "payload_too_large" });
    expect(await settle(session)).toEqual({ steps: ["drop-media"], end: "retry" });
    expect(JSON.stringify(session.messages())).toMatch(
      /File left out: image\/png one\.png.*"filename":"two\.png"/,
    );
    session.onProviderError(error);
    expect(await settle(session)).toEqual({ steps: ["drop-media"], end: "retry" });
    session.onProviderError(error);
    expect(session.nextAction()).toMatchObject({ type: "give-up", reason: "still-refused" });
    expect(summarizer.calls).toHaveLength(0);
  });

  it("neither waits nor compacts for a rate limit that the request alone exceeds", () => {
    const { session } = setUp();
    session.observe(conversation(12, 1_500));
    session.onProviderError(RATE);
    expect(session.nextAction()).toMatchObject({ type: "give-up", reason: "rate-limit-size", error: RATE });
  });

  it.each([
    {
      name: "an ordinary rate limit",
      error: { status: 429, message: "Rate limit reached, try again in 20s" },
    },
    { name: "a server error", error: { status: 500, message: "Internal server error" } },
    { name: "something unknown", error: new Error("too many cooks") },
    { name: "nothing at all", error: undefined },
  ])("leaves $name to the caller", ({ error }) => {
    const { session } = setUp();
    session.append(user("u1", "hello"));
    expect(session.onProviderError(error)).toMatchObject({ isOverflow: false });
    expect(session.nextAction()).toMatchObject({ type: "none" });
  });

  it("RELIABILITY 1.8: auto off stops this path, too", () => {
    const { session } = setUp({ compactAt: "never" });
    session.observe(conversation(12, 1_500));
    session.onProviderError(OVERFLOW);
    expect(session.nextAction()).toMatchObject({ type: "give-up", reason: "auto-off" });
  });

  it("never sends the same request again: a refusal that cannot be about size ends at once", () => {
    const { session } = setUp();
    session.append(user("u1", "hello"));
    session.onProviderError(OVERFLOW);
    expect(session.nextAction()).toMatchObject({ type: "give-up", reason: "still-refused" });
  });

  it("says so when the system prompt and the tools alone do not fit", async () => {
    const { session } = setUp({ toolsChars: 400_000 });
    session.append(user("u1", "hello"));
    session.onProviderError(OVERFLOW);
    await settle(session);
    expect(session.nextAction()).toMatchObject({ type: "give-up", reason: "does-not-fit" });
  });

  it("a new request of the user ends a recovery that was given up", () => {
    const { session } = setUp();
    session.append(user("u1", "hello"));
    session.onProviderError(RATE);
    session.append(user("u2", "never mind"));
    expect(session.nextAction()).toMatchObject({ type: "none" });
  });

  it("does not put secrets of an error into its message", () => {
    const { session } = setUp({ compactAt: "never" });
    session.append(user("u1", "hello"));
    const key = `sk-ant-api03-${"A1b2".repeat(23)}-AAAAAA`;
    session.onProviderError({
      status: 400,
      message: `prompt is too long: 41000 tokens > 40000 maximum (key ${key})`,
    });
    const action = session.nextAction();
    expect(action.type === "give-up" && action.message).not.toContain(key);
  });
});
