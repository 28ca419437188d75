import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { runs } from "../../test/rig/runs.ts";
import { filterCompacted } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { outcomeText } from "../transcript/content.ts";
import { applyEdits } from "../transcript/edit.ts";
import { estimateContextTokens } from "../transcript/estimate-context.ts";
import { findFaults } from "../transcript/format.ts";
import { type Message, project, type Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { findLastRequest } from "./plan/last-request.ts";
import {
  dropMedia,
  planRecovery,
  RECOVERY_STEPS,
  type RecoveryPlan,
  type RecoveryRequest,
  type RecoveryStep,
  shrinkTurn,
} from "./recover.ts";

/** What the model would be sent. */
function wire(messages: Transcript): Transcript {
  const window = filterCompacted(messages);
  return project(applyEdits(window, repairPairing(window), { at: 0 }));
}

function highTokens(messages: Transcript): number {
  return estimateContextTokens(wire(messages), {
    estimator: "calibrated",
    epochStartIndex: Number.POSITIVE_INFINITY,
  }).high;
}

/** Climbs step by step as a session without a summarizer does, and gives every step with what it left. */
function climb(messages: Transcript, request: Omit<RecoveryRequest, "tried">): readonly Climbed[] {
  const climbed: Climbed[] = [];
  let current = messages;
  for (;;) {
    const tried = climbed.map(({ step }) => step);
    const plan = planRecovery(deepFreeze(current), { model: "not-available", ...request, tried });
    if (plan.status !== "step") return climbed;
    current = applyEdits(current, plan.edits, { at: 5 });
    climbed.push({ step: plan.step, after: current, plan });
  }
}

interface Climbed {
  readonly step: RecoveryStep;
  readonly after: Transcript;
  readonly plan: Extract<RecoveryPlan, { status: "step" }>;
}

const only = (step: RecoveryStep): readonly RecoveryStep[] =>
  RECOVERY_STEPS.slice(0, RECOVERY_STEPS.indexOf(step));

/** The plan with everything below a step already climbed. */
function stepOn(step: RecoveryStep, messages: Transcript, limitTokens: number): Climbed {
  const plan = planRecovery(deepFreeze(messages), { limitTokens, tried: only(step) });
  if (plan.status !== "step" || plan.step !== step) throw new Error(`expected ${step}, got ${plan.status}`);
  return { step, plan, after: applyEdits(messages, plan.edits, { at: 5 }) };
}

describe("planRecovery", () => {
  it("says that nothing is needed when the upper bound fits", () => {
    const plan = planRecovery(transcript("u:40 a:40"), { limitTokens: 1_000, tried: [] });
    expect(plan.status).toBe("fits");
  });

  it("prunes first, and stops there when that fits", () => {
    const messages = transcript("u:10 a:5(bash:40000) u:10 a:5(bash:400) u:10 a:5(bash:400)");
    const [first, ...others] = climb(messages, { limitTokens: 2_000 });
    expect(first?.step).toBe("prune");
    expect(first?.plan.fits).toBe(true);
    expect(others).toEqual([]);
  });

  it("says of an error that it shrinks how much is left out, not how long it was", () => {
    const failed: Transcript = [
      { id: "u", role: "user", parts: [{ type: "text", text: "go" }] },
      {
        id: "a",
        role: "assistant",
        parts: [
          {
            type: "tool",
            callId: "c",
            tool: "bash",
            input: {},
            outcome: { status: "failed", error: "e".repeat(900) },
          },
        ],
      },
    ];
    const [edit] = shrinkTurn(failed, 1_200);
    const error =
      edit?.type === "replace-part" && edit.part.type === "tool" ? outcomeText(edit.part.outcome) : "";
    expect(edit?.omitted?.chars).toBe(900 - error.length);
  });

  it("shrinks the outputs of the current turn to a quarter of their limit", () => {
    const { after } = stepOn("shrink-turn", transcript("u:10 a:5(bash:900) u:10 a:5(bash:40000)"), 1_000);
    const [older, newer] = after
      .filter((message) => message.role === "assistant")
      .map((message) => message.parts[1]);
    expect(older).not.toHaveProperty("cut");
    expect(newer).toMatchObject({ cut: { limitChars: 12_800, originalChars: 40_000 } });
  });

  it("asks for the one model call before anything is replaced, unless no model can be asked", () => {
    const messages = transcript("u:4000 a:4000 u:4000 a:4000 u:10");
    expect(planRecovery(messages, { limitTokens: 1_500, tried: [] }).status).toBe("compact");
    expect(planRecovery(messages, { limitTokens: 1_500, tried: [], model: "not-available" })).toMatchObject({
      status: "step",
      step: "local-summary",
    });
    expect(planRecovery(messages, { limitTokens: 1_500, tried: ["compact"] })).toMatchObject({
      step: "local-summary",
    });
  });

  it("replaces all but the last request and the step that nobody answered", () => {
    const messages = transcript("u:2000 a:2000 u:30 a:20(bash:3000) a:20(read:500)");
    const { after } = stepOn("local-summary", messages, 1_200);
    const shown = wire(after);
    expect(shown.some(({ id }) => id === "m3")).toBe(true);
    expect(shown.some(({ id }) => id === "m5")).toBe(true);
    expect(shown.some(({ id }) => id === "m2" || id === "m4")).toBe(false);
    expect(findFaults(shown)).toEqual([]);
  });

  it("a single message over the window keeps head and tail", () => {
    const text = `BEGIN ${"word ".repeat(40_000)} END`;
    const messages: Transcript = [{ id: "m1", role: "user", parts: [{ type: "text", text }] }];
    const [step] = climb(messages, { limitTokens: 2_000 });
    expect(step?.step).toBe("cut-oversized");
    const [part] = wire(step?.after ?? [])[0]?.parts ?? [];
    expect(part).toMatchObject({ text: expect.stringMatching(/^BEGIN[\s\S]*truncated[\s\S]*END$/) });
    expect(highTokens(step?.after ?? [])).toBeLessThanOrEqual(2_000);
  });

  it("media and reasoning cannot be cut, so they give way to a line or go", () => {
    const parts: readonly Part[] = [
      { type: "reasoning", text: "hm ".repeat(4_000) },
      { type: "text", text: "done" },
      {
        type: "tool",
        callId: "c1",
        tool: "shot",
        input: { page: "x".repeat(9_000) },
        outcome: { status: "done", output: "ok", attachments: [{ type: "file", mime: "image/png" }] },
      },
    ];
    const messages: Transcript = [
      {
        id: "m1",
        role: "user",
        parts: [
          { type: "text", text: "look" },
          { type: "file", mime: "image/png", filename: "a.png" },
        ],
      },
      { id: "m2", role: "assistant", parts },
    ];
    const { after } = stepOn("cut-oversized", messages, 1_200);
    const shown = wire(after);
    expect(shown.flatMap((message) => message.parts.map((part) => part.type))).toEqual([
      "text",
      "text",
      "text",
      "tool",
    ]);
    expect(shown[0]?.parts[1]).toMatchObject({ text: "[File left out: image/png a.png]" });
    expect(shown[1]?.parts[1]).toMatchObject({ outcome: { attachments: [] } });
  });

  it("the last step leaves the request and a notice before it", () => {
    const messages = transcript("u:900 a:900(bash:9000) u:700 a:10(bash:90000)");
    const { after } = stepOn("last-request", messages, 1_000);
    const shown = wire(after);
    expect(shown.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(shown[1]?.id).toBe("m3");
    expect(notate(shown)).toMatch(/^u:\d+ u:700$/);
    expect(highTokens(after)).toBeLessThanOrEqual(1_000);
  });

  it("leaves out a step that would make the window larger", () => {
    const messages = transcript("u:10 a:200 u:200");
    const plan = planRecovery(messages, { limitTokens: 30, tried: ["compact"] });
    expect(plan).not.toMatchObject({ step: "local-summary" });
  });

  it("does not let a cut finish a summary that had no words", () => {
    const messages: Transcript = [
      ...transcript("u:40"),
      { id: "marker", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
      {
        id: "s",
        role: "assistant",
        summary: true,
        finish: "stop",
        parts: [{ type: "file", mime: "image/png" }],
      },
    ];
    const { after } = stepOn("cut-oversized", messages, 1_000);
    expect(wire(after).map(({ id }) => id)).toContain("m1");
    expect(wire(applyEdits(messages, dropMedia(messages, "all"), { at: 5 })).map(({ id }) => id)).toContain(
      "m1",
    );
  });

  it("says so when what is sent beside the messages takes all the room", () => {
    const request = {
      limitTokens: 1_000,
      tried: [],
      model: "not-available",
      estimate: { systemChars: 80_000 },
    } as const;
    expect(planRecovery(transcript("u:4000"), request)).toMatchObject({ step: "last-request", fits: false });
    expect(planRecovery(transcript("u:5"), request).status).toBe("exhausted");
  });

  it("keeps a short system message to the end and gives up a long one", () => {
    const keep = stepOn("last-request", transcript("y:100 u:9000 a:90000"), 1_000);
    expect(wire(keep.after)[0]?.role).toBe("system");
    const drop = stepOn("last-request", transcript("y:9000 u:9000 a:90000"), 1_000);
    expect(wire(drop.after).some(({ role }) => role === "system")).toBe(false);
  });
});

const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 80 }),
  fc.string({ unit: "binary", maxLength: 80 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom("", "   ", "[Old tool result content cleared]", "</carried_facts>", "\0\0"),
  fc
    .tuple(
      fc.constantFrom("word ", "数据压缩 ", "😀", "a1b2c3d4", "\n", '{"k":1},'),
      fc.integer({ min: 0, max: 3_000 }),
    )
    .map(([word, count]) => word.repeat(count)),
);

const anyFile = fc.record({
  type: fc.constant("file" as const),
  mime: fc.constantFrom("image/png", "text/plain", "application/pdf"),
});

const anyOutcome = fc.oneof(
  fc.record({
    status: fc.constant("done" as const),
    output: anyText,
    attachments: fc.array(anyFile, { maxLength: 2 }),
  }),
  fc.record({ status: fc.constant("failed" as const), error: anyText }),
  fc.constant({ status: "pending" as const }),
);

const anyPart: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: anyText.map((text) => ({ type: "text" as const, text })) },
  {
    weight: 1,
    arbitrary: anyText.map((text) => ({ type: "text" as const, text, synthetic: true as const })),
  },
  { weight: 1, arbitrary: anyText.map((text) => ({ type: "reasoning" as const, text })) },
  { weight: 1, arbitrary: anyFile },
  { weight: 1, arbitrary: fc.constant({ type: "opaque" as const, name: "step" }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("tool" as const),
      callId: fc.integer({ min: 0, max: 60 }).map((number) => `call-${number}`),
      tool: fc.constantFrom("bash", "read", "skill"),
      input: fc.oneof(
        fc.dictionary(fc.string({ maxLength: 5 }), anyText, { maxKeys: 3 }),
        fc.constant(undefined),
      ),
      outcome: anyOutcome,
    }),
  },
);

const anyTranscript: fc.Arbitrary<Transcript> = fc
  .array(
    fc.tuple(
      fc.constantFrom<"user" | "assistant" | "system" | "marker" | "summary">(
        "user",
        "assistant",
        "user",
        "assistant",
        "assistant",
        "system",
        "marker",
        "summary",
      ),
      fc.array(anyPart, { maxLength: 4 }),
    ),
    { maxLength: 24 },
  )
  .map((rows) =>
    rows.map(([kind, parts], index): Message => {
      const id = `m${index + 1}`;
      if (kind === "marker") return { id, role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
      if (kind === "summary") return { id, role: "assistant", parts, summary: true, finish: "stop" };
      return {
        id,
        role: kind,
        parts:
          kind === "assistant" ? parts : parts.filter(({ type }) => type !== "tool" && type !== "reasoning"),
      };
    }),
  );

describe("the last step", () => {
  it("fits, has no fault and holds the last request, for any session and any window from 1,000 tokens", () => {
    fc.assert(
      fc.property(anyTranscript, fc.integer({ min: 1_000, max: 12_000 }), (messages, limitTokens) => {
        const plan = planRecovery(messages, { limitTokens, tried: only("last-request") });
        if (plan.status === "fits") return;
        if (plan.status !== "step") throw new Error(`the last step is ${plan.status}`);
        const after = applyEdits(messages, plan.edits, { at: 5 });
        expect(highTokens(after)).toBeLessThanOrEqual(limitTokens);
        expect(plan.fits).toBe(true);
        expect(findFaults(wire(after))).toEqual([]);
        expectRequest(messages, wire(after));
      }),
      { numRuns: runs(500) },
    );
  });

  it("whatever the steps before it did, the climb ends in a window that fits and has no fault", () => {
    fc.assert(
      fc.property(anyTranscript, fc.integer({ min: 1_000, max: 6_000 }), (messages, limitTokens) => {
        const climbed = climb(messages, { limitTokens });
        const after = climbed.at(-1)?.after ?? messages;
        expect(highTokens(after)).toBeLessThanOrEqual(limitTokens);
        expect(findFaults(wire(after))).toEqual([]);
        expect(new Set(climbed.map(({ step }) => step)).size).toBe(climbed.length);
        expectRequest(messages, wire(after));
        for (const [index, { plan }] of climbed.entries())
          expect(plan.fits).toBe(index === climbed.length - 1);
      }),
      { numRuns: runs(300) },
    );
  });

  function expectRequest(before: Transcript, shown: Transcript): void {
    const request = before[findLastRequest(before)];
    if (request !== undefined && wire(before).some(({ id }) => id === request.id))
      expect(shown.some(({ id }) => id === request.id)).toBe(true);
  }
});
