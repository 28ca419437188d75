import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSession, type EngineOptions } from "../../test/rig/engine-session.ts";
import { createFakeClock } from "../../test/rig/fakes.ts";
import { anyText } from "../../test/rig/random-history/random-history.ts";
import { runs } from "../../test/rig/runs.ts";
import { user } from "../../test/rig/session.ts";
import { createMemoryOutputStore } from "../stores/memory/output-store.ts";
import { isMalformed } from "../text/normalize.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import { hiddenTexts, RECALL_MAX_CHARS, type RecallSource, recall, trimRecall } from "./recall.ts";

const LOG = Array.from({ length: 900 }, (_, line) => `line ${line}: all well`).join("\n");

function step(id: string, output: string): Message {
  return {
    id,
    role: "assistant",
    parts: [
      { type: "text", text: `about ${id}` },
      {
        type: "tool",
        callId: `${id}-c`,
        tool: "bash",
        input: { command: `cat ${id}.log` },
        outcome: { status: "done", output, attachments: [] },
      },
    ],
  };
}

/** A session in which the outputs before the last two turns are cleared. */
async function pruned(messages: Transcript, options: EngineOptions = {}) {
  const outputs = createMemoryOutputStore();
  const session = createSession(
    { clock: createFakeClock(), outputs },
    {
      limits: { contextTokens: 2_000_000, outputTokens: 0 },
      compaction: { thresholds: { "a/b": { tokens: 1_000 } } },
      model: { provider: "a", id: "b" },
      prune: { protectTokens: 0, minimumTokens: 0 },
      toolOutput: "off",
      ...options,
    },
  );
  session.observe(messages);
  const action = session.nextAction();
  if (action.type !== "prune") throw new Error(`expected prune, got ${action.type}`);
  await session.run(action);
  return { session, outputs };
}

const MESSAGES: Transcript = [
  user("u1", "look"),
  step("s1", `${LOG}\nERROR in parser.ts: unexpected end\n${LOG}`),
  user("u2", "and"),
  step("s2", "fine"),
  user("u3", "now"),
];

describe("recall", () => {
  it("gives messages that follow each other by the handle of a gap", async () => {
    const { session } = await pruned(MESSAGES);
    const recalled = await session.recall("s1..s2", { fromLine: 1_500 });
    expect(recalled).toMatchObject({ status: "found", from: "transcript" });
    expect(recalled.status === "found" && recalled.text).toContain(
      'about s2\n[Tool: bash] {"command":"cat s2.log"}\nfine',
    );
    expect(await session.recall("s1..s9")).toMatchObject({ status: "missing" });
  });

  it("gives the exact text of a cleared output by its handle", async () => {
    const text = `first\n${"x".repeat(4_200)}\nlast`;
    const { session } = await pruned([user("u1", "look"), step("s1", text), ...MESSAGES.slice(2)]);
    expect(await session.recall("s1/1")).toEqual({
      status: "found",
      handle: "s1/1",
      from: "transcript",
      text,
      input: '{"command":"cat s1.log"}',
      totalChars: text.length,
      totalLines: 3,
      isWhole: true,
    });
  });

  it("is trimmed, keeps both ends and says how much there is", async () => {
    const { session } = await pruned(MESSAGES);
    const recalled = await session.recall("s1/1");
    if (recalled.status !== "found") throw new Error("not found");
    expect(recalled.text.length).toBeLessThanOrEqual(RECALL_MAX_CHARS);
    expect(recalled.text).toMatch(
      /^\[\d+ of \d+ characters, 1801 lines; ask for a range of lines or characters to read on\]\nline 0: all well/,
    );
    expect(recalled.text).toMatch(/line 899: all well$/);
    expect(recalled.isWhole).toBe(false);
  });

  it.each([
    {
      name: "lines",
      range: { fromLine: 900, toLine: 902 },
      text: "line 899: all well\nERROR in parser.ts: unexpected end\nline 0: all well\n",
    },
    { name: "characters", range: { fromChar: 5, toChar: 16 }, text: "0: all well" },
    { name: "lines behind the end", range: { fromLine: 99_999 }, text: "" },
    { name: "a range upside down", range: { fromChar: 9, toChar: 3 }, text: "" },
    { name: "numbers that are none", range: { fromChar: Number.NaN, toChar: 4 }, text: "line" },
  ])("gives a range of $name", async ({ range, text }) => {
    const { session } = await pruned(MESSAGES);
    expect(await session.recall("s1/1", range)).toMatchObject({ status: "found", text });
  });

  it("gives a whole message by its id", async () => {
    const { session } = await pruned(MESSAGES);
    const recalled = await session.recall("s2");
    expect(recalled).toMatchObject({ text: 'about s2\n[Tool: bash] {"command":"cat s2.log"}\nfine' });
  });

  it("looks in the store when the transcript has no such handle", async () => {
    const { session, outputs } = await pruned(MESSAGES);
    const stored = await outputs.put("kept elsewhere");
    if (stored.status !== "stored") throw new Error("not stored");
    expect(await session.recall(stored.handle)).toMatchObject({ from: "store", text: "kept elsewhere" });
  });

  it.each(["", "nobody/0", "s1/99", "s1/-1", "s1/x", "__proto__", "constructor/0"])(
    "says what to do when there is nothing under %j",
    async (handle) => {
      const { session } = await pruned(MESSAGES);
      expect(await session.recall(handle)).toMatchObject({ status: "missing", hint: expect.any(String) });
    },
  );

  it("survives a store that throws or hangs", async () => {
    const clock = createFakeClock();
    const put = async () => ({ status: "failed", code: "X", reason: "" }) as const;
    const throwing = createSession({ clock, outputs: { put, get: () => Promise.reject(new Error("no")) } });
    const [unread, wrong] = [
      expect.stringContaining("kept under this handle cannot be read"),
      { code: "57P03", reason: "is starting up" },
    ];
    expect(await throwing.recall("x")).toEqual({ status: "failed", hint: unread });
    const away = createSession({
      clock,
      outputs: { put, get: async () => ({ status: "failed", ...wrong }) },
    });
    expect(await away.recall("x")).toEqual({ status: "failed", hint: unread });
    expect(await away.recall({ search: "y", handle: "x" })).toMatchObject({ status: "failed" });
    const hanging = createSession({ clock, outputs: { put, get: () => new Promise(() => {}) } });
    expect(await clock.runUntilDone(hanging.recall("x"))).toEqual({ status: "failed", hint: unread });
  });

  it("searches only what the model does not see, the exact text first", async () => {
    const { session } = await pruned([
      ...MESSAGES.slice(0, 2),
      user("u1b", "x"),
      step("s1b", "ERROR too old\n".repeat(9)),
      ...MESSAGES.slice(2),
    ]);
    const found = await session.recall({ search: "error IN parser" });
    expect(found).toMatchObject({
      status: "matches",
      pieces: [{ handle: "s1/1", bestLine: 901, totalLines: 1_801 }],
    });
    expect(found.status === "matches" && found.pieces[0]?.lines).toContainEqual({
      line: 901,
      text: "ERROR in parser.ts: unexpected end",
    });
    expect(await session.recall({ search: "ERROR" })).toMatchObject({
      totalPieces: 2,
      pieces: [{ handle: "s1b/1", bestLine: 1 }, { handle: "s1/1" }],
    });
    expect(await session.recall({ search: "fine" })).toMatchObject({ totalPieces: 0 });
    expect(await session.recall({ search: " " })).toMatchObject({ status: "missing" });
  });

  it("finds what came out of sight after the first search", async () => {
    const { session } = await pruned(MESSAGES);
    expect(await session.recall({ search: "harbour" })).toMatchObject({ totalPieces: 0 });
    session.observe([
      ...MESSAGES,
      step("s3", `the harbour is open\n${LOG}`),
      user("u4", "go on"),
      step("s4", LOG),
      user("u5", "more"),
      step("s5", LOG),
      user("u6", "and more"),
    ]);
    const action = session.nextAction();
    await session.run(action);
    expect(await session.recall({ search: "is the harbour open?" })).toMatchObject({
      pieces: [{ handle: "s3/1", bestLine: 1 }],
    });
  });

  it("normalizes, and takes secrets out unless told otherwise", async () => {
    const key = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;
    const text = `\u001b[31mtoken\u001b[0m ${key}\n${"pad ".repeat(1_500)}`;
    const messages = [user("u1", "look"), step("s1", text), ...MESSAGES.slice(2)];
    const clean = await (await pruned(messages)).session.recall("s1/1", { fromLine: 1, toLine: 1 });
    expect(clean).toMatchObject({ text: expect.stringMatching(/^token \[REDACTED:/) });
    const search = await (await pruned(messages)).session.recall({ search: key });
    expect(search).toMatchObject({ totalPieces: 0 });
    const raw = await (await pruned(messages, { redaction: "off" })).session.recall("s1/1", {
      fromLine: 1,
      toLine: 1,
    });
    expect(raw).toMatchObject({ text: `token ${key}\n` });
    // Of recalls alone: what is summarized stays without them.
    const recalled = await (await pruned(messages, { recallRedaction: "off" })).session.recall({
      search: key,
    });
    expect(recalled).toMatchObject({ pieces: [{ handle: "s1/1", bestLine: 1 }] });
    const own = { extraRules: [{ type: "word", pattern: /pad/g }] };
    const strict = (await pruned(messages, { redaction: "off", recallRedaction: own })).session;
    expect(await strict.recall({ search: "pad" })).toMatchObject({ totalPieces: 0 });
  });
});

describe("trimRecall", () => {
  it("says of one long line that characters can be asked for, and gives them", () => {
    const line = "0123456789".repeat(2_000);
    const { text } = trimRecall(line, { maxChars: 600, range: undefined });
    expect(text).toMatch(/^\[\d+ of 20000 characters, 1 line; ask for a range of characters to read on\]\n/);
    expect(trimRecall(line, { maxChars: 600, range: { fromChar: 12_003, toChar: 12_006 } }).text).toBe("345");
  });

  it("never gives more than asked for and never splits a character", () => {
    for (const maxChars of [512, 513, 600]) {
      const { text } = trimRecall("😀".repeat(2_000), { maxChars, range: undefined });
      expect(text.length).toBeLessThanOrEqual(maxChars);
      expect(text.isWellFormed()).toBe(true);
    }
  });
});

describe("recall", () => {
  it("gives no control characters, whatever was kept", async () => {
    const anyKept = fc
      .array(fc.oneof(anyText, fc.constantFrom("\u001b[1mred", "\0", "\r", "\b", "\u0007", "\ud800", "\n")))
      .map((texts) => texts.join(""));
    const source = (text: string): RecallSource => ({
      messages: () => ({ find: () => undefined, list: () => [] }),
      saved: async () => text,
      hidden: () => [{ handle: "h", text }],
    });
    const options = { maxChars: RECALL_MAX_CHARS, range: undefined, redact: undefined };
    await fc.assert(
      fc.asyncProperty(anyKept, async (kept) => {
        const recalled = await recall(source(kept), "h", options);
        const found = await recall(source(kept), { search: "red" }, options);
        expect(isMalformed(recalled.status === "found" ? recalled.text : "missing \0")).toBe(false);
        expect(isMalformed(JSON.stringify(found))).toBe(false);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

it("looks for what is out of sight by its text: parts that were taken out of a request shift the others", () => {
  const stored = step("s1", "the output");
  const sent: Message = { ...stored, parts: stored.parts.slice(1) };
  const hidden = [...hiddenTexts([stored], new Map([["s1", sent]]))];
  expect(hidden).toEqual([{ handle: "s1/0", text: "about s1" }]);
});
