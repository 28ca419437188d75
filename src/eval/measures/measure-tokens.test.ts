import { describe, expect, it } from "vitest";
import { workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { EvalSession } from "../probe/places.ts";
import { measurePrompts } from "./measure-prompts.ts";
import { measureTokens } from "./measure-tokens.ts";

const sessionOf = (transcript: Transcript): EvalSession =>
  deepFreeze({ name: "working", format: "opencode", transcript });

const usageOf = (inputTokens: number) => ({
  inputTokens,
  outputTokens: 5,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

describe("measurePrompts", () => {
  const OUTSIDE_TOKENS = 20_000;
  /** A session whose provider counts exactly as we estimate, and by a factor more where one is named. */
  const counted = (factor = 1): Transcript => {
    const messages = workingSession({ steps: 8 }).map(({ usage: _, ...message }) => message);
    return messages.map((message, index) => {
      if (message.role !== "assistant" || message.model === undefined) return message;
      const { tokens } = estimateContextTokens(messages.slice(0, index), {
        estimator: "calibrated",
        model: message.model,
      });
      return { ...message, usage: usageOf(OUTSIDE_TOKENS + factor * tokens) };
    });
  };

  it("finds no error where the provider counts as we do, whatever is sent beside the messages", () => {
    const steps = measurePrompts(sessionOf(counted()));
    expect(steps).toHaveLength(counted().filter(({ usage }) => usage !== undefined).length - 1);
    for (const { promptTokens, estimatedTokens } of steps) expect(estimatedTokens).toBe(promptTokens);
  });

  it("is too low where the provider counts more", () => {
    const newest = measurePrompts(sessionOf(counted(3))).at(-1);
    expect(newest?.estimatedTokens).toBeLessThan(newest?.promptTokens ?? 0);
    expect(newest?.calls).toBeGreaterThan(0);
  });

  it("begins anew with another model and after a compaction", () => {
    const messages = counted();
    const at = messages.findLastIndex(({ usage }) => usage !== undefined);
    const other = messages.with(at, { ...(messages[at] as Message), model: { provider: "p", id: "other" } });
    expect(measurePrompts(sessionOf(other))).toHaveLength(measurePrompts(sessionOf(messages)).length - 1);
    const marker: Message = { id: "marker", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
    const summary: Message = {
      id: "summary",
      role: "assistant",
      summary: true,
      finish: "stop",
      parentId: "marker",
      parts: [{ type: "text", text: "so far" }],
    };
    const compacted = [...messages.slice(0, at), marker, summary, ...messages.slice(at)];
    expect(measurePrompts(sessionOf(compacted))).toHaveLength(measurePrompts(sessionOf(messages)).length - 1);
  });

  it("does not judge what comes after a prompt that shrank for no reason in the file", () => {
    const messages = counted();
    const half = Math.floor(messages.length / 2);
    const cleared = messages.map((message, index) =>
      message.usage === undefined || index < half ? message : { ...message, usage: usageOf(15_000) },
    );
    const isComparable = measurePrompts(sessionOf(cleared)).map((step) => step.isComparable);
    expect(isComparable.at(0)).toBe(true);
    expect(isComparable.at(-1)).toBe(false);
  });
});

describe("measureTokens", () => {
  const usage = (inputTokens: number) => ({
    inputTokens,
    outputTokens: 5,
    reasoningTokens: 0,
    cacheReadTokens: 1000,
    cacheWriteTokens: 0,
  });
  const counted = (grownTokens: number): Transcript =>
    workingSession({ steps: 3 }).map((message, index) =>
      message.role === "assistant" ? { ...message, usage: usage(index * grownTokens) } : message,
    );

  it("holds estimates against what the next prompt had more", () => {
    const steps = measureTokens(sessionOf(counted(900)));
    expect(steps).toHaveLength(2);
    expect(steps[0]).toMatchObject({ model: "claude-opus-4-6", usageTokens: 900, calls: 1 });
    expect(steps[0]?.calibratedTokens).toBeGreaterThan(steps[0]?.documentedTokens ?? Number.NaN);
  });

  it.each<{ name: string; change: (message: Message) => Message }>([
    {
      name: "with reasoning",
      change: (message) => ({ ...message, parts: [...message.parts, { type: "reasoning", text: "hm" }] }),
    },
    {
      name: "with media",
      change: (message) => ({ ...message, parts: [...message.parts, { type: "file", mime: "image/png" }] }),
    },
    {
      name: "with blanked-out secrets",
      change: (message) => ({ ...message, parts: [...message.parts, { type: "text", text: "REDACTED" }] }),
    },
    {
      name: "of several models",
      change: (message) => ({ ...message, model: { provider: "p", id: message.id } }),
    },
    { name: "without usage", change: ({ usage: _, ...message }) => message },
  ])("leaves out steps $name", ({ change }) => {
    const changed = counted(900).map((message) => (message.role === "assistant" ? change(message) : message));
    expect(measureTokens(sessionOf(changed))).toEqual([]);
  });

  it("leaves out steps at which something else must have been counted", () => {
    expect(measureTokens(sessionOf(counted(90_000)))).toEqual([]);
  });
});
