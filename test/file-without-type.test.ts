import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { dropMedia, planRecovery, RECOVERY_STEPS, type RecoveryStep } from "../src/compaction/recover.ts";
import { maybeSummarizeToolResults } from "../src/compaction/tool-summaries/maybe-summarize-tool-results.ts";
import { forkContext } from "../src/fork/fork.ts";
import { aiSdk } from "../src/formats/wires/ai-sdk/ai-sdk.ts";
import { anthropic } from "../src/formats/wires/anthropic/anthropic.ts";
import { gemini } from "../src/formats/wires/gemini/gemini.ts";
import { openaiChat } from "../src/formats/wires/openai-chat/openai-chat.ts";
import { openaiResponses } from "../src/formats/wires/openai-responses/openai-responses.ts";
import type { SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { handOff } from "../src/handoff/handoff.ts";
import { countMedia } from "../src/inspector/view/part-texts.ts";
import { createSession } from "../src/session/session.ts";
import { supersede } from "../src/stages/supersede.ts";
import { DOCUMENTED_TIER_LIMITS } from "../src/stages/tiers.ts";
import * as stages from "../src/stages.ts";
import { renderMessage } from "../src/transcript/content.ts";
import { runStages } from "../src/transcript/edit.ts";
import { charsOf, estimateMessageTokens } from "../src/transcript/estimate-message.ts";
import type { Format } from "../src/transcript/format.ts";
import type { Message, Transcript } from "../src/transcript/message.ts";
import type { FilePart } from "../src/transcript/part.ts";
import { createFakeClock, createFakeSummarizer } from "./rig/fakes.ts";
import { deepFreeze } from "./rig/notation.ts";

interface Encoder extends Format<unknown> {
  encode(transcript: Transcript): unknown;
}

const WIRES = [anthropic, openaiChat, openaiResponses, gemini, aiSdk].map(
  (format) => format as unknown as Encoder,
);

/** What a program may hand over as a file: the type is missing, or no text. */
const untyped = [{}, { mime: null }, { mime: 7, filename: "photo.bin" }].map(
  (fields) => ({ type: "file", ...fields }) as unknown as FilePart,
);

function talk(turns: number): Transcript {
  const messages = Array.from({ length: turns }, (_, turn): readonly Message[] => [
    { id: `u${turn}`, role: "user", parts: [{ type: "text", text: `look at ${turn}` }, ...untyped] },
    {
      id: `a${turn}`,
      role: "assistant",
      finish: "stop",
      parts: [
        {
          type: "tool",
          callId: `c${turn}`,
          tool: "read",
          input: { filePath: `src/f${turn % 7}.ts` },
          outcome: {
            status: "done",
            output: `line ${turn} `.repeat(400),
            attachments: untyped,
          },
        },
        { type: "text", text: `seen ${turn}` },
      ],
    },
  ]);
  return deepFreeze(messages.flat());
}

describe("a file without a media type", () => {
  it("reads as one of an unknown type", () => {
    const [first] = talk(1);
    expect(renderMessage(first as Message)).toBe(
      "\nUser:\nlook at 0\n[File: unknown type]\n[File: unknown type]\n[File: unknown type photo.bin]",
    );
  });

  it("counts as media, as one of a known type does", () => {
    const [first] = talk(1) as [Message];
    const typed = { ...first, parts: first.parts.map((part) => ({ ...part, mime: "image/png" })) };
    expect(estimateMessageTokens(first)).toBe(estimateMessageTokens(typed));
    expect(charsOf(first)).toBe(charsOf(typed));
  });

  const talkOf = talk(30);

  it.each(["documented", "default"] as const)("is inherited by a fork in the profile %s", (profile) => {
    for (const budgetChars of [512, 8_000, 200_000]) {
      const { text } = forkContext(talkOf, { profile, budgetChars });
      expect(text.length).toBeLessThanOrEqual(budgetChars);
    }
    expect(forkContext(talkOf, { profile }).text).toContain("[File: unknown type photo.bin]");
  });

  it.each([
    ["charBudget", stages.charBudget({ maxChars: 2_000 })],
    ["graduatedTiers", stages.graduatedTiers({ limits: DOCUMENTED_TIER_LIMITS })],
    ["keepLines", stages.keepLines({ keepChars: 2_000 })],
    ["omitForChild", stages.omitForChild({})],
    ["pruneStage", stages.pruneStage({ protectTokens: 100, minimumTokens: 0 })],
    ["redactTranscript", stages.redactTranscript({})],
    ["repairPairing", stages.repairPairing],
    ["supersede", supersede({ protectTurns: 0 })],
    ["dropMedia", (messages: Transcript) => dropMedia(messages, "all")],
  ])("goes through %s", (_, stage) => {
    const { transcript } = runStages(talkOf, [stage]);
    expect(transcript.map(renderMessage).join("").length).toBeGreaterThan(0);
  });

  it.each(["sync", "background"] as const)("is summed up with its result (%s)", async (mode) => {
    const clock = createFakeClock();
    const { edits } = await clock.runUntilDone(
      maybeSummarizeToolResults(talkOf, {
        settings: { toolCallCutoff: 10, mode },
        summarizer: createFakeSummarizer(),
        clock,
        signal: new AbortController().signal,
      }),
    );
    expect(edits.length).toBeGreaterThan(0);
  });

  it("is recovered, on every step of the retry steps", () => {
    const climbed: RecoveryStep[] = [];
    for (let step = 0; step < RECOVERY_STEPS.length; step++) {
      const tried = RECOVERY_STEPS.slice(0, step);
      const plan = planRecovery(talkOf, { limitTokens: 900, tried, model: "not-available" });
      if ("step" in plan) climbed.push(plan.step as RecoveryStep);
    }
    expect(climbed.length).toBeGreaterThan(0);
  });

  it.each(["documented", "default"] as const)("stays in a session of the profile %s", async (profile) => {
    const clock = createFakeClock();
    const answers = Array.from({ length: 200 }, () => "## Goal\nLook at all.");
    const options = { profile, limits: { contextTokens: 24_000, outputTokens: 1_000 } } as const;
    const ports = { clock, summarizer: createFakeSummarizer(...answers) };
    const session = createSession(ports, options);
    session.append(talkOf[0] as Message);
    await clock.runUntilDone(session.prepare());
    expect(session.messages()[0]?.parts).toEqual(talkOf[0]?.parts);
    for (const message of talkOf.slice(1)) {
      session.append(message);
      await clock.runUntilDone(session.prepare());
      expect(JSON.stringify(session.messages())).not.toContain('"unreadable"');
      for (const format of WIRES) expect(format.faults(format.encode(session.messages()))).toEqual([]);
    }
    session.onProviderError({ status: 400, message: "prompt is too long: 30000 tokens > 24000 maximum" });
    await clock.runUntilDone(session.prepare());
    expect(session.ledger().length).toBeGreaterThan(0);
    const state = JSON.parse(JSON.stringify(session.toJSON()));
    const again = createSession(ports, options);
    await clock.runUntilDone(again.restore(talkOf, state));
    expect(again.messages()).toEqual(session.messages());
  });

  it.each(WIRES.map((format) => [format.name, format] as const))("is written for %s", (_, format) => {
    const wire = format.encode(talkOf);
    expect(format.faults(wire)).toEqual([]);
    expect(JSON.stringify(wire)).toContain("[File: unknown type photo.bin]");
  });

  it.each(["claude-code", "codex", "opencode", "opencode2", "pi"] as const)(
    "is handed over to %s",
    (target) => {
      const { files } = handOff(talkOf, {
        target,
        head: { id: "handed-over", cwd: "/", at: 1, title: "A talk", newId: randomUUID },
        secrets: "taken-out",
        source: { format: "anthropic", path: "/session" },
      });
      expect(files).toBe(30 * 2 * untyped.length);
    },
  );

  it("counts as media on the page", () => {
    const counts = talk(1).flatMap(({ parts }) => parts.map((part) => countMedia(part, "recorded")));
    expect(counts).toEqual([0, 1, 1, 1, 3, 0]);
  });

  it("in a session of OpenCode is kept as it stands", () => {
    const wire = [
      {
        info: { id: "m1", role: "user", sessionID: "s" },
        parts: [
          { type: "text", text: "look" },
          { type: "file", filename: "photo.bin" },
        ],
      },
    ] as unknown as readonly SessionMessage[];
    expect(opencode.apply(wire, [], { at: 1 })).toEqual(wire);
    const inserted = { id: "m2", role: "user", parts: [{ type: "text", text: "see" } as const, ...untyped] };
    const why = { stage: "test", reason: "media" };
    const [, written] = opencode.apply(
      wire,
      [{ type: "insert-message", message: inserted, after: "m1", ...why }],
      { at: 1 },
    );
    expect(written?.parts[1]).toMatchObject({ type: "file", mime: "application/octet-stream" });
    expect(opencode.decode(wire)[0]?.parts[1]).toMatchObject({ type: "file", filename: "photo.bin" });
  });
});
