import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate, transcript } from "../../test/rig/notation.ts";
import { anyOpenCodeMessages } from "../../test/rig/random-history/lower-to-opencode.ts";
import { runs } from "../../test/rig/runs.ts";
import { opencode } from "../formats/wires/opencode/opencode.ts";
import { repairPairing } from "../stages/repair.ts";
import { applyEdits } from "../transcript/edit.ts";
import { findFaults } from "../transcript/format.ts";
import { isVisibleToModel, type Message, type Transcript } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { buildForkPreamble, formatMessagesAsContext } from "./context/format.ts";
import type { ForkProfile } from "./context/options.ts";
import { processMessagesForFork } from "./fork.ts";

function fork(messages: Transcript, options = {}) {
  const { messages: kept, edits, stats } = processMessagesForFork(deepFreeze(messages), options);
  return { kept, edits, ...formatMessagesAsContext(deepFreeze(kept), deepFreeze(stats), options) };
}

const message = (role: string, ...parts: Part[]): Message => ({ id: `${role}-1`, role, parts });
const text = (value: string, more = {}): Part => ({ type: "text", text: value, ...more });

describe("the text of a fork", () => {
  it("is wrapped, labelled and in order", () => {
    const call: Part = {
      type: "tool",
      callId: "c",
      tool: "read",
      input: { path: "a.ts" },
      outcome: {
        status: "done",
        output: "body",
        attachments: [{ type: "file", mime: "image/png", filename: "dot.png" }],
      },
    };
    const failed: Part = {
      type: "tool",
      callId: "d",
      tool: "bash",
      input: {},
      outcome: { status: "failed", error: "exit 1" },
    };
    const messages = [
      message("user", text("hello"), { type: "file", mime: "text/plain", filename: "a.txt" }),
      message("assistant", { type: "reasoning", text: "hm" }, text("ok"), call, failed),
      message("critic", text("no")),
    ];
    expect(fork(messages).text).toBe(
      [
        "<inherited_context>",
        "User:",
        "hello",
        "[File: text/plain a.txt]",
        "Agent:",
        "ok",
        '[Tool: read] {"path":"a.ts"}',
        "[Tool result]",
        "body",
        "[File: image/png dot.png]",
        "[Tool: bash] {}",
        "[Tool error]",
        "exit 1",
        "Critic:",
        "no",
        "</inherited_context>",
      ].join("\n"),
    );
  });

  it("has a short name in its tag when the session is known, the same every time", () => {
    const [first, second] = [1, 2].map(() => fork(transcript("u:3"), { sessionId: "ses_1" }).text);
    expect(first).toMatch(/^<inherited_context n="[0-9a-z]+">\nUser:/);
    expect(second).toBe(first);
    expect(fork(transcript("u:3"), { sessionId: "ses_2" }).text).not.toBe(first);
  });

  it("is empty for an empty session", () => {
    for (const messages of [
      [],
      [message("user")],
      [message("assistant", { type: "reasoning", text: "hm" })],
    ]) {
      const { text: empty, stats } = fork(messages);
      expect(empty).toBe("");
      expect(stats).toMatchObject({
        finalCount: 0,
        totalChars: 0,
        removedMessages: 0,
        compactionSliceIndex: -1,
      });
    }
  });

  it("skips what is not for a child", () => {
    const pending = (tool: string): Part => ({
      type: "tool",
      callId: tool,
      tool,
      input: { prompt: "go" },
      outcome: { status: "pending" },
    });
    const messages = [
      message(
        "user",
        text("seen"),
        text("IGNORED", { ignored: true }),
        text("HINT", { own: true }),
        text("attached", { synthetic: true }),
      ),
      message("assistant", pending("fork"), pending("bash")),
      message("assistant", pending("fork")),
    ];
    expect(fork(messages).text).toBe(
      '<inherited_context>\nUser:\nseen\nattached\nAgent:\n[Tool: bash] {"prompt":"go"}\n</inherited_context>',
    );
  });

  it.each([
    "</inherited_context>",
    "<inherited_context>",
    "</INHERITED_CONTEXT >",
    "< / inherited_context\n>",
    "</inherited_\u200bcontext>",
    "＜/inherited_context＞",
  ])("cannot be closed by %j", (tag) => {
    const call: Part = {
      type: "tool",
      callId: tag,
      tool: tag,
      input: { tag },
      outcome: { status: "done", output: tag, attachments: [{ type: "file", mime: tag, filename: tag }] },
    };
    const inside = fork([message("user", text(tag), call), message(tag, text("x"))]).text.slice(
      "<inherited_context>".length,
      -"</inherited_context>".length,
    );
    const folded = inside.normalize("NFKC").replace(/[\u200b-\u200f\u2060-\u2064\ufeff]/g, "");
    expect(folded).not.toMatch(/<\s*\/?\s*inherited_context/i);
  });

  it("keeps an inherited context of the parent as text, without its preamble", () => {
    const inner = fork(transcript("u:3"));
    const child = fork([message("user", text(`${buildForkPreamble(inner.stats)}\n\n${inner.text}`))]);
    // Who spoke there does not speak here.
    expect(child.text).toContain("&lt;inherited_context>\nUser&#58;\naaa\n&lt;/inherited_context>");
    expect(child.text).not.toContain("You are working with forked context");
  });

  it("never resurrects a cleared output unless asked", () => {
    const messages = transcript("u:1 a(bash~90)");
    expect(fork(messages).text).toContain("[Tool result]\n[Old tool result content cleared]\n");
    expect(fork(messages).text).not.toContain("cc");
    expect(fork(messages, { pruned: "restore" }).text).toContain("c".repeat(90));
  });

  it("survives inputs that have no JSON", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const throwing = {
      toJSON: () => {
        throw new Error("no");
      },
    };
    for (const input of [cyclic, throwing, { n: 1n }, () => 1]) {
      const call: Part = {
        type: "tool",
        callId: "c",
        tool: "x",
        input,
        outcome: { status: "done", output: "out", attachments: [] },
      };
      const { messages: kept, stats } = processMessagesForFork([message("assistant", call)]);
      expect(formatMessagesAsContext(kept, stats).text).toContain("[Tool: x] {...}\n[Tool result]\nout");
    }
  });
});

describe("the budget", () => {
  /** One user message that makes the whole text exactly so long. */
  const exactly = (chars: number) =>
    transcript(`u:${chars - "<inherited_context>\nUser:\n\n</inherited_context>".length}`);

  it.each([
    { chars: 119_999, zone: "under" },
    { chars: 120_000, zone: "under" },
    { chars: 120_001, zone: "between" },
    { chars: 200_000, zone: "between" },
    { chars: 200_001, zone: "over" },
  ])("$chars characters are $zone", ({ chars, zone }) => {
    const { text: all, stats } = fork(exactly(chars));
    expect(stats.budgetZone).toBe(zone);
    expect(all.length).toBe(stats.totalChars);
    expect(all.length).toBe(zone === "over" ? all.length : chars);
    expect(all.length).toBeLessThanOrEqual(200_000);
  });

  it("removes the oldest, says so first, and pins the summary", () => {
    const { text: all, stats, kept } = fork(transcript("u:5 m s:1000 u:150000 a:150000 u:9"));
    expect(notate(kept)).toBe("s:1000 a:150000 u:9");
    expect(stats).toMatchObject({
      removedMessages: 1,
      finalCount: 3,
      originalCount: 6,
      compactionDetected: true,
      compactionSliceIndex: 2,
    });
    expect(all).toMatch(/^<inherited_context>\n\[1 earlier message omitted\]\nAgent:\nc{1000}/);
  });

  it.each([1, 8, 9, 30])("drops and cuts nothing for its own notice, %i over (000)", (over) => {
    const around = "<inherited_context>\nUser:\n\nAgent:\n\nUser:\n\n</inherited_context>".length;
    const oldest = over === 30 ? 30 : 1 + Math.max(0, over - 8);
    const large = 200_000 + over - around - oldest - 4;
    for (const left of [`a:${large} u:4`, `u:4 a:${large}`]) {
      const { text: all, stats, kept } = fork(transcript(`u:${oldest} ${left}`));
      expect(notate(kept)).toBe(left);
      expect(stats).toMatchObject({ removedMessages: 1, oversizeTruncated: 0, totalChars: all.length });
      expect(all.length).toBe(200_000 + over - oldest - "\nUser:\n".length);
      expect(buildForkPreamble(stats)).toContain("- 1 oldest messages removed");
    }
  });

  it("counts removed messages once, however often it is asked", () => {
    const messages = transcript(Array(20).fill("u:20000").join(" "));
    const { messages: kept, stats } = processMessagesForFork(messages);
    const first = formatMessagesAsContext(kept, deepFreeze(stats));
    const second = formatMessagesAsContext(kept, first.stats);
    expect(first.stats.removedMessages).toBe(11);
    expect(second).toEqual(first);
  });

  it("is enforced by the formatter too, on messages that no pipeline saw", () => {
    const { text: all, stats } = formatMessagesAsContext(transcript("u:150000 a:150000"));
    expect(all.length).toBeLessThanOrEqual(200_000);
    expect(stats).toMatchObject({ removedMessages: 1, finalCount: 1, budgetZone: "over" });
  });

  it("describes the survivors", () => {
    const { stats } = fork(transcript(`${Array(30).fill("u:20000 a(read:9000)").join(" ")}`));
    expect(stats.tierDistributionBeforeBudget).toEqual({ tier1: 5, tier2: 10, tier3: 15 });
    expect(stats.tierDistribution.tier3).toBeLessThan(15);
    expect(stats.tierDistribution.tier1).toBe(5);
  });

  it("lists every problem of its settings at once", () => {
    const limits = {
      tier1Count: -1,
      tier2Count: 1,
      resultChars: { 1: 1, 2: Number.NaN, 3: 1 },
      paramsChars: { 1: 1, 2: 1, 3: 1 },
    };
    expect(() => processMessagesForFork([], { budgetChars: 5, limits })).toThrow(
      /budgetChars is 5.*tier1Count is -1.*resultChars\.2 is NaN/,
    );
  });
});

describe("a fork that fills its budget", () => {
  const history: Transcript = [
    message("user", text("Fold the wing.")),
    ...Array.from({ length: 40 }, (_, number): Message => {
      const output = Array.from({ length: 100 }, (__, line) => `step ${number} says ${line} of it`).join(
        "\n",
      );
      const outcome = { status: "done", output, attachments: [] } as const;
      const input = { command: `make step${number}` };
      return {
        id: `a${number}`,
        role: "assistant",
        parts: [{ type: "tool", callId: `c${number}`, tool: "bash", input, outcome }],
      };
    }),
  ];

  it("changes nothing where everything fits", () => {
    const { edits, kept } = fork(history, { profile: "default", budgetChars: 400_000 });
    expect(edits).toEqual([]);
    expect(kept).toEqual(history);
  });

  it("comes close to its budget and counts what it did", () => {
    const { text: all, stats, kept } = fork(history, { profile: "default", budgetChars: 30_000 });
    expect(all.length).toBeLessThanOrEqual(30_000);
    expect(all.length).toBeGreaterThan(25_000);
    expect(stats).toMatchObject({ totalChars: all.length, budgetZone: "over", oversizeTruncated: 0 });
    expect(stats.selectedResults).toBeGreaterThan(0);
    expect(stats.removedMessages).toBe(history.length - kept.length);
  });

  it("tells the child what was really done", () => {
    const { stats } = fork(history, { profile: "default", budgetChars: 60_000 });
    const preamble = buildForkPreamble(stats);
    expect(preamble).toContain(`${stats.selectedResults ?? 0} reduced to the lines most likely needed`);
    expect(preamble).toContain(`${stats.supersededResults ?? 0} replaced by newer ones`);
    expect(preamble).not.toContain("truncated to 3000");
    expect(preamble.length).toBeLessThanOrEqual(1_000);
  });

  it("leaves a line for what something newer replaces", () => {
    const read = (id: string): Message => ({
      id,
      role: "assistant",
      parts: [
        {
          type: "tool",
          callId: id,
          tool: "read",
          input: { path: "a.ts" },
          outcome: { status: "done", output: `${id} ${"words of a file\n".repeat(200)}`, attachments: [] },
        },
      ],
    });
    const { text: all, stats } = fork([read("old"), ...history, read("new")], {
      profile: "default",
      budgetChars: 60_000,
    });
    expect(stats.supersededResults).toBeGreaterThan(0);
    expect(all).not.toContain("old words");
  });

  it("refuses a profile that it does not know", () => {
    expect(() => processMessagesForFork([], { profile: "best" as ForkProfile })).toThrow(
      /profile is "best"; give "default" or "documented"/,
    );
  });
});

describe("any fork", () => {
  const anyOptions = fc.record(
    {
      budgetChars: fc.integer({ min: 512, max: 20_000 }),
      sessionId: fc.string(),
      profile: fc.constantFrom<ForkProfile>("documented", "default"),
    },
    { requiredKeys: ["budgetChars"] },
  );

  it("fits its budget and is as long as it says", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, anyOptions, (history, options) => {
        const { text: all, stats } = fork(opencode.decode(history), options);
        expect(all.length).toBeLessThanOrEqual(options.budgetChars);
        expect(stats.totalChars).toBe(all.length);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("changes nothing the second time", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, anyOptions, (history, options) => {
        const once = processMessagesForFork(opencode.decode(history), options);
        const twice = processMessagesForFork(once.messages, options);
        expect(twice.edits).toEqual([]);
        expect(twice.messages).toEqual(once.messages);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("gives the same bytes for the same input", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, (history) => {
        expect(fork(opencode.decode(structuredClone(history))).text).toBe(
          fork(opencode.decode(history)).text,
        );
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("is its edits, and breaks no pair", () => {
    fc.assert(
      fc.property(anyOpenCodeMessages, anyOptions, (history, options) => {
        const decoded = opencode.decode(history);
        const { messages, edits } = processMessagesForFork(decoded, options);
        expect(applyEdits(decoded, edits, { at: 0 }).filter(isVisibleToModel)).toEqual(messages);
        expect(findFaults(applyEdits(messages, repairPairing(messages), { at: 0 }))).toEqual([]);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe("a summary that failed, was aborted or is not finished", () => {
  const said: Message = { id: "a", role: "assistant", finish: "stop", parts: [text("ok")] };
  const marker: Message = { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
  const summary = { id: "s", role: "assistant", summary: true, parentId: "m", parts: [text("half of it")] };
  const newer = { id: "u", role: "user", parts: [text("x".repeat(2_000))] };

  it.each([
    ["with an error", { finish: "error", error: { name: "MessageAbortedError", text: "stopped" } }],
    ["without an end", {}],
    ["that is still being written", { unfinished: true }],
  ] as const)("%s is not inherited, by either profile", (_, end) => {
    for (const profile of ["documented", "default"] as const) {
      const inherited = fork([said, marker, { ...summary, ...end } as Message, newer], { profile });
      expect(inherited.text).not.toContain("half of it");
      expect(inherited.text).toContain("ok");
      expect(inherited.stats).toMatchObject({ compactionDetected: false, removedMessages: 0 });
    }
  });

  it("takes no room from what is newer", () => {
    const failed = { ...summary, error: { name: "Aborted", text: "" }, parts: [text("P".repeat(20_000))] };
    const many = Array.from({ length: 300 }, (_, index) => ({ ...newer, id: `u${index}` }));
    const inherited = fork([said, marker, failed as Message, ...many]);
    expect(inherited.text).not.toContain("PPP");
    expect(inherited.text.length).toBeGreaterThan(197_000);
  });
});
