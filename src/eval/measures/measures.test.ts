import { describe, expect, it } from "vitest";
import { lineOf, workingSession } from "../../../test/rig/eval-session.ts";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { measureSpeed } from "../measure-session.ts";
import { plainMessages } from "../probe/history-text.ts";
import type { EvalSession } from "../probe/places.ts";
import { LOOP_POLICIES } from "./loop-policies.ts";
import { measureCompaction } from "./measure-compaction.ts";
import { measureCost } from "./measure-cost.ts";
import { probesOf } from "./measure-recall.ts";
import { BUILT_IN_POLICIES } from "./policies.ts";

const sessionOf = (transcript: Transcript): EvalSession =>
  deepFreeze({ name: "working", format: "opencode", transcript });

describe("measureCompaction", () => {
  const all = workingSession({ steps: 40 });
  const summary: Message = {
    id: "summary",
    role: "assistant",
    summary: true,
    parts: [
      {
        type: "text",
        text: `We are at ${lineOf(17, 20)} of src/parts/part-17.ts. ${"And so on. ".repeat(60)}`,
      },
    ],
  };
  const measure = measureCompaction(sessionOf([...all.slice(0, 21), summary, ...all.slice(21)]), {
    policies: BUILT_IN_POLICIES,
    steps: 10,
  });

  it("holds a real summary against policies of the same size and larger", () => {
    const [compaction] = measure.compactions;
    expect(measure.compactions).toHaveLength(1);
    expect(compaction?.ways.map(({ way, size }) => `${way}@${size}`)).toEqual([
      "summary@same",
      ...BUILT_IN_POLICIES.map(({ name }) => `${name}@same`),
      ...[20_000, 50_000].flatMap((size) => [
        ...BUILT_IN_POLICIES.map(({ name }) => `${name}@${size}`),
        `summary+tail@${size}`,
      ]),
    ]);
    const [first] = compaction?.ways ?? [];
    expect(first?.editLines).toBeCloseTo(1 / 3);
    expect(compaction?.ways.find(({ way, size }) => way === "last-N" && size === 50_000)?.usable).toBe(1);
  });

  it("counts what is read again afterwards and elsewhere", () => {
    const rereading = {
      type: "tool" as const,
      callId: "again",
      tool: "read",
      input: { filePath: "src/parts/part-3.ts" },
    };
    const outcome = { status: "done" as const, output: "", attachments: [] };
    const again: Message = { id: "again", role: "assistant", parts: [{ ...rereading, outcome }] };
    const { rereadsAfter, rereadsElsewhere } = measureCompaction(
      sessionOf([...all.slice(0, 21), summary, again, ...all.slice(21)]),
      { policies: [], steps: 10 },
    );
    expect(rereadsAfter).toEqual([1]);
    expect(rereadsElsewhere).toEqual([]);
  });

  it("is empty where there is no summary", () => {
    const none = measureCompaction(sessionOf(all), { policies: BUILT_IN_POLICIES, steps: 10 });
    expect(none).toEqual({ compactions: [], rereadsAfter: [], rereadsElsewhere: [] });
  });
});

describe("measureCost", async () => {
  const session = sessionOf(workingSession({ steps: 60 }));
  const probes = probesOf(session, { steps: 10, maxProbes: 8 });
  const costs = new Map((await measureCost(session, probes)).map((cost) => [cost.policy, cost]));
  const cost = (policy: string) => {
    const found = costs.get(policy);
    if (found === undefined) throw new Error(`no ${policy}`);
    return found;
  };

  it("prices what is sent again as a read and what is new as a write", () => {
    const lengths = plainMessages(session.transcript).map(({ length }) => length);
    let [sent, cached] = [0, 0];
    for (let step = 1; step < lengths.length; step++) {
      const before = lengths.slice(0, step - 1).reduce((sum, length) => sum + length, 60_000);
      sent += before + (lengths[step - 1] ?? 0);
      cached += step === 1 ? 0 : before;
    }
    expect(cost("append-only")).toMatchObject({ steps: 60, sentChars: sent, cachedChars: cached });
    expect(cost("append-only").costChars).toBeCloseTo(0.1 * cached + 1.25 * (sent - cached), 3);
  });

  it("shows that changing the window at every step loses the cache, and in batches keeps it", () => {
    expect([...costs.keys()]).toEqual(LOOP_POLICIES.map(({ name }) => name));
    const hit = (policy: string): number => cost(policy).cachedChars / cost(policy).sentChars;
    expect(hit("tiers-batched")).toBeGreaterThan(hit("tiers"));
    expect(hit("mask-batched")).toBeGreaterThan(hit("mask-10"));
    expect(cost("tiers-batched").costChars).toBeLessThan(cost("tiers").costChars);
    expect(cost("prune-160k").sentChars).toBeLessThanOrEqual(cost("append-only").sentChars);
  });

  it("scores the window at each probe", async () => {
    expect(cost("append-only").usable).toEqual(probes.map(() => 1));
    const farBack = sessionOf(workingSession({ steps: 60, editsBackSteps: 20 }));
    const far = await measureCost(farBack, probesOf(farBack, { steps: 10, maxProbes: 8 }));
    const usable = (policy: string) => far.find((each) => each.policy === policy)?.usable ?? [];
    expect(Math.max(...usable("mask-10"))).toBeLessThan(Math.min(...usable("append-only")));
  });

  it("starts anew after the cache has gone cold", async () => {
    const paused = session.transcript.map((message, index) => ({
      ...message,
      ...(message.createdAt !== undefined && index > 30 && { createdAt: message.createdAt + 3_600_000 }),
    }));
    const [cold] = await measureCost(sessionOf(paused), []);
    expect(cold?.cachedChars).toBeLessThan(cost("append-only").cachedChars);
  });

  it("gives nothing for a short session", async () => {
    expect(await measureCost(sessionOf(workingSession({ steps: 10 })), [])).toEqual([]);
  });
});

describe("measureSpeed", () => {
  it("gives the best of some turns as a multiple of plain writing", () => {
    // Each look at the clock is a millisecond later, so that everything takes 1 ms.
    let clockMs = 0;
    const samples = measureSpeed(workingSession({ steps: 5 }), {
      policies: BUILT_IN_POLICIES.slice(0, 2),
      budgetsChars: [1000],
      now: () => clockMs++,
    });
    expect(samples.map(({ policy, milliseconds, timesPlain }) => [policy, milliseconds, timesPlain])).toEqual(
      [
        ["last-N", 1, 1],
        ["uniform-1500", 1, 1],
      ],
    );
  });
});
