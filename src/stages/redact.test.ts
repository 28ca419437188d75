import { describe, expect, it } from "vitest";
import { deepFreeze, transcript } from "../../test/rig/notation.ts";
import { formatMessagesAsContext } from "../fork/context/format.ts";
import { processMessagesForFork } from "../fork/fork.ts";
import { runStages } from "../transcript/edit.ts";
import type { Message } from "../transcript/message.ts";
import { createRedactor, redactTranscript } from "./redact.ts";

// Glued from pieces, so that no scanner takes this file for a leak.
const key = ["ghp", "_", "a8B3c9D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");

const message: Message = deepFreeze({
  id: "m",
  role: "assistant",
  parts: [
    { type: "text", text: `use ${key}` },
    { type: "reasoning", text: key },
    {
      type: "tool",
      callId: key,
      tool: "bash",
      input: { env: [`GITHUB_TOKEN=${key}`] },
      outcome: { status: "done", output: `${"x".repeat(495)} ${key} end`, attachments: [] },
    },
    {
      type: "tool",
      callId: "d",
      tool: "bash",
      input: {},
      outcome: { status: "failed", error: `\u001b[31m${key.slice(0, 9)}\u001b[0m${key.slice(9)}` },
    },
  ],
});

describe("redactTranscript", () => {
  it("replaces secrets in text, input, output and error, also behind escape sequences", () => {
    const { transcript: after, edits } = runStages([message], [redactTranscript()]);
    const [text, reasoning, tool, failed] = after[0]?.parts ?? [];
    expect(JSON.stringify([text, failed])).not.toContain(key.slice(4, 20));
    expect(JSON.stringify(tool)).toContain("[REDACTED:");
    expect(tool).toMatchObject({ callId: key });
    expect(reasoning).toBe(message.parts[1]);
    expect(edits.map((edit) => edit.reason)).toEqual(["secret", "secret", "secret"]);
  });

  it("goes before the cut in a fork, so that half a key cannot stay", () => {
    const newer = transcript(Array(20).fill("a(read:5)").join(" "));
    const { messages, stats } = processMessagesForFork([message, ...newer], { redact: redactTranscript() });
    const { text } = formatMessagesAsContext(messages, stats);
    for (let start = 4; start + 12 <= key.length; start++)
      expect(text).not.toContain(key.slice(start, start + 12));
  });

  it("leaves secrets alone when nobody asks", () => {
    const { messages, stats } = processMessagesForFork([message]);
    expect(formatMessagesAsContext(messages, stats).text).toContain(key);
  });

  it("changes nothing the second time", () => {
    const once = runStages([message], [redactTranscript()]).transcript;
    expect(redactTranscript()(once)).toEqual([]);
  });

  it("says in each edit what it replaced, and nothing of the rest", () => {
    const said: Message = { id: "u", role: "user", parts: [{ type: "text", text: "no secret" }] };
    const [edit, ...more] = redactTranscript()(
      deepFreeze([said, { ...message, parts: message.parts.slice(0, 2) }]),
    );
    expect(more).toEqual([]);
    expect(edit).toMatchObject({
      type: "replace-part",
      messageId: "m",
      partIndex: 0,
      stage: "redact-transcript",
      reason: "secret",
    });
  });

  it("does not touch what is hidden, message or part", () => {
    const hidden = { ...message, metadata: { agentVisible: false } };
    const parts = message.parts.map((part) => ({ ...part, agentVisible: false as const }));
    expect(redactTranscript()([hidden, { ...message, parts }])).toEqual([]);
  });

  it("redacts how a shortened input reads, and keeps the rest of its note", () => {
    const inputCut = { method: "head", originalChars: 90, omittedChars: 9, limitChars: 81 } as const;
    const outcome = { status: "pending" } as const;
    const part = { type: "tool", callId: "c", tool: "bash", input: {}, outcome } as const;
    const shortened = (preview: string): Message => ({
      id: "a",
      role: "assistant",
      parts: [{ ...part, inputCut: { ...inputCut, preview } }],
    });
    expect(redactTranscript()([shortened("plain...")])).toEqual([]);
    const [edit] = redactTranscript()([shortened(`{"env":"${key}"...`)]);
    const changed = edit?.type === "replace-part" && edit.part.type === "tool" ? edit.part : undefined;
    expect(changed?.inputCut).toMatchObject(inputCut);
    expect(changed?.inputCut?.preview).toMatch(/^\{"env":"\[REDACTED:/);
    expect(changed?.outcome).toBe(outcome);
  });

  it("does not normalize where there is no secret", () => {
    const text = "\u001b[31mred\u001b[0m";
    expect(redactTranscript()([{ id: "a", role: "assistant", parts: [{ type: "text", text }] }])).toEqual([]);
  });

  it("keeps everything else of a text, and redacts an input by itself", () => {
    const said: Message = {
      id: "a",
      role: "assistant",
      parts: [{ type: "text", text: key, synthetic: true }],
    };
    expect(redactTranscript()([said])).toMatchObject([{ part: { type: "text", synthetic: true } }]);
    const outcome = { status: "done", output: "plain", attachments: [] } as const;
    const call = { type: "tool", callId: "c", tool: "bash", input: { env: key, cwd: "/" }, outcome } as const;
    const [edit] = redactTranscript()([{ id: "a", role: "assistant", parts: [call] }]);
    const part = edit?.type === "replace-part" && edit.part.type === "tool" ? edit.part : undefined;
    expect(part?.input).toMatchObject({ cwd: "/" });
    expect(JSON.stringify(part?.input)).not.toContain(key);
  });
});

describe("createRedactor", () => {
  const file = { type: "file", mime: "image/png", filename: `${key}.png` } as const;
  const unnamed = { type: "file", mime: "image/png" } as const;
  const marker = { type: "compaction", trigger: "manual" } as const;

  it("takes secrets out of everything of a message that a person reads, and leaves ids", () => {
    const outcome = { status: "done", output: key, attachments: [file, unnamed] } as const;
    const shown: Message = deepFreeze({
      id: key,
      role: "assistant",
      error: { name: key, text: `refused: ${key}` },
      metadata: { kind: key },
      parts: [
        { type: "text", text: `use ${key}` },
        { type: "reasoning", text: `maybe ${key}` },
        { type: "tool", callId: key, tool: `say-${key}`, input: { password: "hunter2horse", n: 1 }, outcome },
        { type: "tool", callId: "d", tool: "bash", input: key, outcome: { status: "pending" } },
        file,
        unnamed,
        { type: "opaque", name: key },
        marker,
      ],
    });
    const { id, parts, error, metadata } = createRedactor().message(shown);
    const [text, reasoning, done, pending, image, bare, opaque, compaction] = parts;
    const placeholder = expect.stringContaining("[REDACTED:");
    expect(id).toBe(key);
    expect(error).toEqual({ name: placeholder, text: expect.stringMatching(/^refused: \[REDACTED:/) });
    expect(metadata).toEqual({ kind: placeholder });
    expect([text, reasoning]).toMatchObject([
      { type: "text", text: expect.stringMatching(/^use \[REDACTED:/) },
      { type: "reasoning", text: expect.stringMatching(/^maybe \[REDACTED:/) },
    ]);
    expect(done).toMatchObject({
      callId: key,
      tool: expect.stringMatching(/^say-\[REDACTED:/),
      input: { password: placeholder, n: 1 },
      outcome: { status: "done", output: placeholder, attachments: [{ filename: placeholder }, unnamed] },
    });
    expect(pending).toMatchObject({ input: placeholder, outcome: { status: "pending" } });
    expect(image).toEqual({ ...file, filename: expect.stringMatching(/^\[REDACTED:.*\.png$/) });
    expect(bare).toBe(shown.parts[5]);
    expect(opaque).toEqual({ type: "opaque", name: placeholder });
    expect(compaction).toBe(shown.parts[7]);
  });

  it("leaves what holds no secret as it is, and adds nothing", () => {
    const plain: Message = deepFreeze({
      id: "a",
      role: "user",
      parts: [
        { type: "text", text: "plain" },
        { type: "reasoning", text: "plain" },
        { type: "opaque", name: "plain" },
        { type: "tool", callId: "c", tool: "bash", input: { n: [1] }, outcome: { status: "pending" } },
        unnamed,
      ],
    });
    const redacted = createRedactor().message(plain);
    expect(redacted).toEqual(plain);
    expect(Object.keys(redacted)).toEqual(Object.keys(plain));
    for (const [index, part] of redacted.parts.entries()) expect(part).toBe(plain.parts[index]);
  });

  it("counts what it replaced, over all texts", () => {
    const { text, found } = createRedactor();
    expect(text("nothing here")).toBe("nothing here");
    expect([...found]).toEqual([]);
    text(`${key} and ${key.replace("a8", "b9")}`);
    text(key);
    expect([...found]).toEqual([["github-token", 3]]);
  });
});
