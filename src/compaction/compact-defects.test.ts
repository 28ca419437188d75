import { describe, expect, it } from "vitest";
import { createFakeClock, createFakeSummarizer } from "../../test/rig/fakes.ts";
import { notate, transcript as read } from "../../test/rig/notation.ts";
import { filterCompacted } from "../stages/boundary.ts";
import { repairPairing } from "../stages/repair.ts";
import { applyEdits } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import type { Message } from "../transcript/message.ts";
import { CALL_IDLE_MS, CALL_LIMIT_MS, MAX_CALLS } from "./ask-summarizer.ts";
import { type Compacted, compact } from "./compact.ts";
import { type CompactionInput, planCompaction } from "./plan/plan-compaction.ts";

async function compacted(input: CompactionInput, answer = "## Goal\nGo on."): Promise<Compacted> {
  const clock = createFakeClock();
  const ports = { clock, summarizer: createFakeSummarizer(answer) };
  const outcome = await clock.runUntilDone(compact(planCompaction(input), ports, { at: 1 }));
  if (outcome.status === "unchanged") throw new Error(outcome.reason);
  return outcome;
}

/** Each of these is broken in one of the systems that the specification describes. */
describe("defects of the originals", () => {
  it("an agent that has finished is not told to go on", async () => {
    const { messages } = await compacted({ transcript: read("u:40 a(read:9000) a:80"), trigger: "overflow" });
    expect(messages.some((message) => message.metadata?.kind === "continue")).toBe(false);
  });

  it("the window begins with the marker, a user message, and not with the summary", async () => {
    const { messages } = await compacted({
      transcript: read("u:40 a(read:9000) u:40 a:40"),
      trigger: "manual",
    });
    expect(filterCompacted(messages)[0]).toMatchObject({ role: "user", parts: [{ type: "compaction" }] });
  });

  it("one huge result in the middle costs neither the summary nor what came before it", async () => {
    const transcript = read("u:40 a:40 u:60 a(read:2000000) a:80 u:20");
    const plan = planCompaction({ transcript, trigger: "manual" });
    expect(plan).toMatchObject({ status: "planned", omittedMessages: 0 });
    expect(notate(filterCompacted((await compacted({ transcript, trigger: "manual" })).messages))).toMatch(
      /^m s:\d+/,
    );
  });

  it("a call that never got its result is repaired, kept or replaced", async () => {
    for (const notation of [
      "u:40 a(read?) a:9000 u:40 a(bash?)",
      "u:40 a:9000 u:40 a(bash?,read:40) a(read?)",
    ]) {
      const { messages } = await compacted({ transcript: read(notation), trigger: "manual" });
      expect(findFaults(applyEdits(messages, repairPairing(messages), { at: 1 }))).toEqual([]);
    }
  });

  it("one long turn can be compacted, and no call is cut from its result", async () => {
    const transcript = read(`u:40 ${"a(read:4000) ".repeat(12)}`);
    const { messages } = await compacted({ transcript, trigger: "threshold" });
    expect(notate(filterCompacted(messages))).toMatch(/^m s:\d+ u:40 a\(read:4000\)( u:\d+)?$/);
  });

  it("doing nothing is not a success", async () => {
    const clock = createFakeClock();
    const plan = planCompaction({ transcript: read("u:40 a:40"), trigger: "threshold" });
    const ports = { clock, summarizer: createFakeSummarizer("x") };
    expect(await compact(plan, ports, { at: 1 })).toMatchObject({
      status: "unchanged",
      reason: "nothing-old",
      calls: 0,
    });
  });

  it("DC-8b: a summary in the user's role is never summed up as what the user wrote", async () => {
    const first = await compacted({
      transcript: read("u:40 a(read:9000) u:40"),
      trigger: "manual",
      representation: "user-summary",
    });
    const more = read("a(read:9000) u:50").map((message) => ({ ...message, id: `later-${message.id}` }));
    const plan = planCompaction({
      transcript: [...first.messages, ...more],
      trigger: "manual",
      representation: "user-summary",
    });
    const prompt = plan.status === "planned" ? plan.request.prompt : "";
    expect(prompt).toContain("<previous-summary>\n## Goal\nGo on.\n</previous-summary>");
    expect(prompt).not.toContain("[Previous conversation summary]");
    expect(prompt).not.toMatch(/\[User\]: ## Goal/);
  });

  it("characters are counted, not bytes", () => {
    const say = (text: string): Message[] => [{ id: "m1", role: "user", parts: [{ type: "text", text }] }];
    const tokens = (text: string) =>
      planCompaction({ transcript: say(text), trigger: "threshold" }).tokensBefore;
    expect(tokens("漢".repeat(400))).toBe(tokens("x".repeat(400)));
  });

  it("the system prompt and the tools are part of what a compaction has to shrink", () => {
    const transcript = read("u:400 a:4000 u:40");
    const plain = planCompaction({ transcript, trigger: "manual" });
    const whole = planCompaction({
      transcript,
      trigger: "manual",
      estimate: { systemChars: 4_000, toolsChars: 4_000 },
    });
    expect(whole.tokensBefore - plain.tokensBefore).toBe(2_000);
  });

  it("the call has a time limit, an idle limit, a size and at most one retry", () => {
    expect([CALL_LIMIT_MS, CALL_IDLE_MS, MAX_CALLS]).toEqual([90_000, 30_000, 2]);
    const plan = planCompaction({ transcript: read("u:40 a:900000 u:40"), trigger: "manual" });
    expect(plan).toMatchObject({ request: { maxOutputTokens: 4_000 } });
  });

  it("a window that is too small for any request leads to the local summary, without a call", async () => {
    const transcript = read("u:400 a:9000 u:40");
    const outcome = await compacted({ transcript, trigger: "manual", summarizer: { windowTokens: 700 } });
    expect(outcome).toMatchObject({ degraded: "window-too-small", calls: 0 });
  });
});
