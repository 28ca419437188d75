import * as google from "@ai-sdk/google";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aiSdk } from "../../src/formats/wires/ai-sdk/ai-sdk.ts";
import type { AiSdkWire } from "../../src/formats/wires/ai-sdk/ai-sdk-message.ts";
import { contentOf, isSignedCall } from "../../src/formats/wires/ai-sdk/ai-sdk-message.ts";
import { createSession } from "../../src/session/session.ts";
import { runStages } from "../../src/transcript/edit.ts";
import type { Transcript } from "../../src/transcript/message.ts";
import { createFakeClock } from "../rig/fakes.ts";
import { RANDOM_STAGES, randomCheck } from "../rig/random-history/check-history.ts";
import { type History, ownThoughts, type Step } from "../rig/random-history/history.ts";
import { runs } from "../rig/runs.ts";
import { GEMINI_LOOPS, loopThatHolds, runGeminiLoop } from "./harness/gemini-loop.ts";

describe("a long tool loop on Gemini 3, which signs the first of parallel calls", () => {
  it.each(GEMINI_LOOPS)(
    "$parallel calls a step, $way, restarts $restarts: no step is unsigned, nothing stands in for a signature",
    async (loop) => void (await loopThatHolds({ ...loop, provider: google })),
  );

  // A window in which pruning is not enough: whole steps are summed up while the turn goes on.
  it("holds through compactions in the running turn", async () => {
    const limits = { contextTokens: 12_000, outputTokens: 1_000 };
    const report = await loopThatHolds({
      provider: google,
      steps: 64,
      parallel: 2,
      way: "generate",
      options: { limits, prune: "off" },
    });
    expect(report.edits).toContain("compact");
  });
});

describe("a turn that an earlier build had pruned", () => {
  it("goes on from what it stored: what it had hidden of a step does not unsign the rest", async () => {
    const { messages } = await runGeminiLoop({ provider: google, steps: 30, parallel: 3, way: "generate" });
    const wire = messages.slice(0, -1) as AiSdkWire;
    const transcript = aiSdk.decode(wire);
    const before = open();
    before.observe(asDecodedBefore(transcript));
    // After a day nothing is cached that an edit could cost.
    await before.prepare({ moment: "after-turn", idleMs: 86_400_000 });
    const state: unknown = JSON.parse(JSON.stringify(before));
    expect(unsignedSteps(aiSdk.apply(asSentBefore(wire), before.edits(), { at: 0 }), wire)).not.toEqual([]);

    const session = open();
    expect(await session.restore(transcript, state)).toMatchObject({ batches: 1, dropped: 0, unreadable: 0 });
    const sent = aiSdk.apply(wire, session.edits(), { at: 0 });
    expect(aiSdk.faults(sent)).toEqual([]);
    expect(unsignedSteps(sent, wire)).toEqual([]);
  });

  const open = () =>
    createSession({ clock: createFakeClock() }, { model: { provider: "google", id: "gemini-3-pro" } });

  /** Nobody knew of a call that it is signed. */
  function asDecodedBefore(transcript: Transcript): Transcript {
    return transcript.map((message) => ({
      ...message,
      parts: message.parts.map((part) => {
        if (part.type !== "tool") return part;
        const { signed: _, ...plain } = part;
        return plain;
      }),
    }));
  }

  /** The messages with signatures that are not read as such. */
  function asSentBefore(wire: AiSdkWire): AiSdkWire {
    return JSON.parse(JSON.stringify(wire).replaceAll('"thoughtSignature"', '"unread"')) as AiSdkWire;
  }
});

describe("random histories of which the first call of a step is signed", () => {
  it("keep, after any edits, a signed call in front of every step that had one", () => {
    const property = fc.property(randomCheck(), ({ history, stages, seed }) => {
      const wire = lowerToAiSdk(history);
      const ids = wire.flatMap(callsOf).map(({ toolCallId }) => toolCallId);
      // A call is found by its id.
      fc.pre(new Set(ids).size === ids.length);
      // Parts are hidden in every history, whatever else is done to it.
      const chosen = [...stages.map((number) => RANDOM_STAGES[number % RANDOM_STAGES.length]), HIDE_PARTS];
      const { edits } = runStages(
        aiSdk.decode(wire),
        chosen.flatMap((random) => random?.stage(seed) ?? []),
      );
      expect(unsignedSteps(aiSdk.apply(wire, edits, { at: 0 }), wire)).toEqual([]);
    });
    fc.assert(property, { numRuns: runs(5_000, 300) });
  });
});

const HIDE_PARTS = RANDOM_STAGES.find(({ name }) => name === "hide parts");

/** The first calls of the steps that were signed in the messages before, and are not in those after. */
function unsignedSteps(after: AiSdkWire, before: AiSdkWire): readonly unknown[] {
  const stepOf = new Map(
    before.flatMap((message) =>
      callsOf(message).map(({ toolCallId }) => [toolCallId, callsOf(message)] as const),
    ),
  );
  return after.flatMap((message) => {
    const [first] = callsOf(message);
    const [wasFirst] = stepOf.get(first?.toolCallId) ?? [];
    return wasFirst !== undefined && first !== undefined && isSignedCall(wasFirst) && !isSignedCall(first)
      ? [first]
      : [];
  });
}

function callsOf(message: AiSdkWire[number]) {
  return message.role === "assistant" ? contentOf(message).filter(({ type }) => type === "tool-call") : [];
}

/** The messages that an application holds for a history: the calls of its own model are signed. */
function lowerToAiSdk(history: History): AiSdkWire {
  return history.steps.flatMap((step): AiSdkWire => lowerStep(step, history));
}

function lowerStep(step: Step, history: History): AiSdkWire {
  switch (step.type) {
    case "user":
      return [{ role: "user", content: step.texts.map((text) => ({ type: "text", text })) }];
    case "results": {
      const content = step.results.map(({ callId, tool, text }) => ({
        type: "tool-result",
        toolCallId: callId,
        toolName: tool,
        output: { type: "text", value: text },
      }));
      return [{ role: "tool", content }];
    }
    case "model": {
      const { text, calls } = step;
      const thoughtSignature = ownThoughts(history, step)[0]?.signature;
      const signature = thoughtSignature && { providerOptions: { google: { thoughtSignature } } };
      const content = [
        ...(text === undefined ? [] : [{ type: "text", text }]),
        ...calls.map(({ id, tool, input }, index) => ({
          type: "tool-call",
          toolCallId: id,
          toolName: tool,
          input,
          ...(index === 0 && signature),
        })),
      ];
      return [{ role: "assistant", content }];
    }
    default:
      return [];
  }
}
