import { describe, expect, it } from "vitest";
import { deepFreeze, transcript as read } from "../../../test/rig/notation.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { applyEdits } from "../../transcript/edit.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import { DEFAULT_COMPACTION_SETTINGS } from "../trigger/compaction-settings.ts";
import { compactionEdits } from "./edits.ts";
import { type CompactionInput, type CompactionPlan, planCompaction } from "./plan-compaction.ts";

function planned(input: CompactionInput): CompactionPlan {
  const plan = planCompaction(deepFreeze(input));
  if (plan.status === "nothing") throw new Error(`nothing to compact: ${plan.reason}`);
  return plan;
}

const user = (id: string, text: string): Message => ({ id, role: "user", parts: [{ type: "text", text }] });
const answer = (id: string, text: string): Message => ({
  id,
  role: "assistant",
  parts: [{ type: "text", text }],
  finish: "stop",
});
/** Settings under which the newest `keepRecentTokens` tokens stay. */
const keeping = (keepRecentTokens: number) => ({
  ...DEFAULT_COMPACTION_SETTINGS,
  maxTokens: 0,
  keepRecentTokens,
});

describe("planCompaction: whether", () => {
  it.each([
    { name: "there are no messages", messages: "", reason: "empty" },
    { name: "there are only system messages", messages: "y:400", reason: "empty" },
    { name: "everything fits into what stays", messages: "u:40 a:40 u:40", reason: "nothing-old" },
    { name: "what goes is less than a tenth", messages: "u:400 a:7800 u:90", reason: "too-little" },
  ])("says that there is nothing to do when $name", ({ messages, reason }) => {
    expect(planCompaction({ transcript: read(messages), trigger: "threshold" })).toMatchObject({
      status: "nothing",
      reason,
    });
  });

  it("gives the same plan for the same input, and changes no input", () => {
    const input = { transcript: read("u:400 a:9000(read:9000) u:80 a:40"), trigger: "manual" } as const;
    expect(planned(input)).toEqual(planned(input));
  });
});

describe("planCompaction: where it cuts", () => {
  it.each([
    {
      name: "keeps the newest that fit",
      messages: "u:400 a:400 u:400 a:400 u:40",
      keep: 220,
      kept: "m3 m4 m5",
    },
    {
      name: "keeps the newest even when it alone is too long",
      messages: "u:400 a:400 u:4000",
      keep: 10,
      kept: "m3",
    },
    {
      name: "never separates a call from its result: both are one part",
      messages: "u:400 a:400 u:40 a(read:900,bash:900) a(read:900) a:40",
      keep: 250,
      kept: "m3 m5 m6",
    },
    {
      name: "cuts inside a single long turn and keeps its request before the rest",
      messages: "u:40 a(read:900) a(read:900) a(read:900) a(read:900)",
      keep: 470,
      kept: "m1 m4 m5",
    },
  ])("$name", ({ messages, keep, kept }) => {
    const plan = planned({
      transcript: read(messages),
      trigger: "threshold",
      representation: "user-summary",
      settings: keeping(keep),
    });
    expect(plan.keptIds.join(" ")).toBe(kept);
  });

  it("keeps the last messages by number when no tokens are set, and five when that is 0 too", () => {
    const transcript = read("u:400 a:400 u:400 a:400 u:400 a:400 u:400 a:400");
    const plan = (keepRecent: number) =>
      planned({
        transcript,
        trigger: "threshold",
        representation: "user-summary",
        settings: { ...keeping(0), keepRecent },
      });
    expect(plan(3).keptIds).toEqual(["m6", "m7", "m8"]);
    expect(plan(0).keptIds).toHaveLength(5);
  });

  it("cuts a demanded compaction even when everything fits: the newest 30 % stay, and the last request", () => {
    const transcript = read("u:400 a:400 u:400 a:400 u:400 a:400 a:400 a:400");
    expect(planCompaction({ transcript, trigger: "threshold" }).status).toBe("nothing");
    expect(planned({ transcript, trigger: "context_limit_recovery" }).keptIds).toEqual(["m5", "m7", "m8"]);
  });

  it.each([
    {
      name: "a quarter of the usable window",
      limits: { contextTokens: 72_000, outputTokens: 32_000 },
      tokens: 10_000,
    },
    {
      name: "at most 15,000 tokens",
      limits: { contextTokens: 1_000_000, outputTokens: 32_000 },
      tokens: 15_000,
    },
    { name: "at least 2,000 tokens", limits: { contextTokens: 36_000, outputTokens: 32_000 }, tokens: 2_000 },
  ])("keeps $name as a pivot's tail", ({ limits, tokens }) => {
    const transcript = read(`u:40 a:90000 u:40 ${"a(read:4000) ".repeat(30)}`);
    const plan = planned({ transcript, trigger: "threshold", limits });
    const tail = plan.keptIds.filter((id) => id !== "m3");
    expect(tail).toHaveLength(Math.floor(tokens / 1_002));
  });

  it("keeps no tail when the budget is 0, and then carries the last request in the summary", () => {
    const plan = planned({ transcript: read("u:40 a:9000 u:80 a:9000"), trigger: "manual", tailTokens: 0 });
    expect(plan.keptIds).toEqual([]);
    expect(plan.lastRequest).toMatchObject({ messageId: "m3", place: "replaced" });
    expect(plan.facts.userWords.map((words) => words.handle)).toEqual(["m1", "m3"]);
  });

  it("keeps a request that nobody has answered as a message, whatever the budget", () => {
    const failed = { ...answer("m4", ""), error: { name: "ContextOverflow", text: "too long" } };
    const messages = [user("m1", "FIRST"), answer("m2", "x".repeat(9_000)), user("m3", "WAITING")];
    for (const transcript of [messages, [...messages, failed]]) {
      const plan = planned({ transcript, trigger: "overflow", tailTokens: 0 });
      expect(plan.keptIds[0]).toBe("m3");
      expect(plan.lastRequest).toMatchObject({ place: "kept" });
    }
  });

  it("marks a split turn and quotes its beginning apart", () => {
    const transcript = read("u:40 a:4000 u:40 a(read:900) a(read:900) a(read:900)");
    const plan = planned({ transcript, trigger: "threshold", tailTokens: 300 });
    expect(plan.splitTurn).toBe("split");
    expect(plan.request.prompt).toMatch(/<conversation>[\s\S]*<\/conversation>\s*<current_turn>\n\[User\]/);
    expect(plan.request.prompt).toContain("## Current turn");
  });

  it("never replaces system messages", () => {
    const plan = planned({ transcript: read("y:4000 u:40 a:9000 u:80 a:90"), trigger: "manual" });
    expect(plan.replacedIds).not.toContain("m1");
  });
});

describe("planCompaction: what came before", () => {
  it.each(["pivot", "user-summary"] as const)(
    "takes the previous summary out and passes it as such, in a %s",
    (representation) => {
      const first = planned({
        transcript: [user("m1", "Build it"), answer("m2", "x".repeat(9_000)), user("m3", "Go on")],
        trigger: "manual",
        representation,
      });
      const edits = compactionEdits(first, {
        prose: "PROSE-ONE",
        degraded: false,
        factsShare: 1,
        wordsShare: 1,
        pinsShare: 1,
        continuation: "append",
      });
      const transcript = [
        ...applyEdits(first.transcript, edits, { at: 1 }),
        answer("m4", "y".repeat(9_000)),
        user("m5", "And now?"),
      ];
      const second = planned({ transcript, trigger: "manual", representation });
      expect(second.material.previousSummary).toBe("PROSE-ONE");
      expect(second.request.prompt).toContain("<previous-summary>\nPROSE-ONE\n</previous-summary>");
      expect(second.request.prompt.split("PROSE-ONE")).toHaveLength(2);
      expect(second.replacedIds).toContain(first.ids.summary);
      expect(second.facts.generation).toBe(2);
    },
  );

  it("replaces again what the first compaction kept: summary, tail and everything newer", () => {
    const tail: Transcript = [user("m3", "TAIL-REQUEST"), answer("m4", "TAIL-ANSWER")];
    const transcript: Transcript = [
      user("m1", "OLD"),
      answer("m2", "x".repeat(4_000)),
      ...tail,
      { id: "m5", role: "user", parts: [{ type: "compaction", trigger: "auto", tailStartId: "m3" }] },
      { ...answer("m6", "SUMMARY-ONE"), summary: true, parentId: "m5" },
      user("m7", "NEWER"),
      answer("m8", "y".repeat(9_000)),
      user("m9", "LAST"),
    ];
    const { request, material, replacedIds, keptIds } = planned({ transcript, trigger: "manual" });
    expect(
      filterCompacted(transcript)
        .map((message) => message.id)
        .join(" "),
    ).toBe("m5 m6 m3 m4 m7 m8 m9");
    expect(material.previousSummary).toBe("SUMMARY-ONE");
    for (const text of ["TAIL-REQUEST", "TAIL-ANSWER", "NEWER"]) expect(request.prompt).toContain(text);
    expect(request.prompt).not.toContain("OLD");
    expect(keptIds).toEqual(["m9"]);
    // What only the boundary kept out of the window is hidden too, or it would be back once the old marker is hidden.
    expect(replacedIds).toEqual(["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"]);
  });

  it("finds the first request and the files of a conversation that somebody else compacted", () => {
    const transcript: Transcript = [
      user("m1", "FIRST"),
      { ...read("a(read:40)")[0], id: "m2", role: "assistant", parts: [readCall("src/a.ts")] },
      { id: "m3", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
      { ...answer("m4", "THEIR SUMMARY"), summary: true, parentId: "m3" },
      answer("m5", "y".repeat(9_000)),
      user("m6", "LAST"),
    ];
    const { facts } = planned({ transcript, trigger: "manual" });
    expect(facts.userWords).toEqual([{ handle: "m1", text: "FIRST", first: true }]);
    expect(facts.filesRead).toEqual(["src/a.ts"]);
  });

  it("ignores a previous summary that failed or never ended", () => {
    const failed = {
      ...answer("m3", "HALF"),
      summary: true as const,
      error: { name: "E", text: "" },
      parentId: "m2",
    };
    const transcript: Transcript = [
      user("m1", "FIRST"),
      { id: "m2", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
      failed,
      answer("m4", "y".repeat(9_000)),
      user("m5", "LAST"),
    ];
    const plan = planned({ transcript, trigger: "manual" });
    expect(plan.material.previousSummary).toBeUndefined();
    expect(plan.request.prompt).not.toContain("HALF");
  });
});

describe("planCompaction: what happens after", () => {
  const overflowed: Transcript = [
    user("m1", "FIRST"),
    answer("m2", "x".repeat(9_000)),
    {
      id: "m3",
      role: "user",
      parts: [
        { type: "text", text: "WHAT IS THIS" },
        { type: "file", mime: "image/png", filename: "shot.png" },
        { type: "file", mime: "text/plain", filename: "notes.txt" },
      ],
    },
  ];

  it("keeps the request that did not fit out of the summary and replays it without its media", () => {
    const plan = planned({ transcript: overflowed, trigger: "context_limit_recovery" });
    expect(plan.request.prompt).not.toContain("WHAT IS THIS");
    expect(plan.replay).toBe("replayed");
    const edits = compactionEdits(plan, {
      prose: "P",
      degraded: false,
      factsShare: 1,
      wordsShare: 1,
      pinsShare: 1,
      continuation: "append",
    });
    const window = filterCompacted(applyEdits(overflowed, edits, { at: 1 }));
    expect(window.at(-1)).toMatchObject({
      id: "m3",
      parts: [
        { text: "WHAT IS THIS" },
        { type: "text", text: "[File left out: image/png shot.png]" },
        { type: "file", mime: "text/plain" },
      ],
    });
  });

  it("leaves media alone when nothing overflowed", () => {
    expect(planned({ transcript: overflowed, trigger: "manual" }).replay).toBe("none");
  });

  const working = [{ ...read("a(read:4000)")[0], id: "m3", finish: "tool-calls" } as Message];
  it.each([
    { name: "an automatic compaction interrupts work", newest: working, continuation: "append" },
    {
      name: "it was asked for by a person",
      newest: working,
      change: { trigger: "manual" },
      continuation: "manual",
    },
    {
      name: "the caller does not want it",
      newest: working,
      change: { autoContinue: "never" },
      continuation: "off",
    },
    { name: "a user is waiting", newest: [user("m3", "Well?")], continuation: "user-is-waiting" },
    { name: "the agent had finished", newest: [answer("m3", "Done.")], continuation: "finished" },
    {
      name: "the answer was cut off",
      newest: [{ ...answer("m3", "Do"), finish: "length" }],
      continuation: "append",
    },
    {
      name: "it is a user summary",
      newest: working,
      change: { representation: "user-summary" },
      continuation: "not-a-pivot",
    },
  ] as const)("$continuation: $name", ({ newest, continuation, ...rest }) => {
    const transcript = [user("m1", "FIRST"), answer("m2", "x".repeat(90_000)), ...newest];
    const change: Partial<CompactionInput> = "change" in rest ? rest.change : {};
    expect(planned({ transcript, trigger: "overflow", tailTokens: 2_000, ...change }).continuation).toBe(
      continuation,
    );
  });

  it("uses a marker that is already waiting instead of a second one", () => {
    const marker: Message = { id: "m3", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
    const transcript = [user("m1", "FIRST"), answer("m2", "x".repeat(9_000)), user("m4", "LAST"), marker];
    const plan = planned({ transcript, trigger: "overflow" });
    expect(plan.pendingMarkerId).toBe("m3");
    const edits = compactionEdits(plan, {
      prose: "P",
      degraded: false,
      factsShare: 1,
      wordsShare: 1,
      pinsShare: 1,
      continuation: "append",
    });
    const window = filterCompacted(applyEdits(transcript, edits, { at: 1 }));
    expect(window.map((message) => message.id)).toEqual(["m3", plan.ids.summary, "m4"]);
    expect(window[0]?.parts[0]).toMatchObject({ type: "compaction", tailStartId: "m4" });
  });

  it("makes ids from neighbours, and never one that is taken", () => {
    const transcript = [user("m1", "FIRST"), answer("m2", "x".repeat(9_000)), user("m2~summary", "LAST")];
    expect(planned({ transcript, trigger: "manual" }).ids).toEqual({
      marker: "m2~marker",
      summary: "m2~summary~2",
      digest: "m2~digest",
      continuation: "m2~continue",
    });
  });
});

function readCall(filePath: string): Message["parts"][number] {
  const outcome = { status: "done", output: "text", attachments: [] } as const;
  return { type: "tool", callId: filePath, tool: "read", input: { filePath }, outcome };
}
