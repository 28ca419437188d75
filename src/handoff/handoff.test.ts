import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readTranscript } from "../formats/read-transcript.ts";
import type { Transcript } from "../transcript/message.ts";
import { outcomeText } from "../transcript/part.ts";
import { type HandedOff, type HandoffOptions, handOff } from "./handoff.ts";
import { type HandoffTarget, translateCalls } from "./tool-calls.ts";

const TARGETS: readonly HandoffTarget[] = ["claude-code", "codex", "opencode", "opencode2", "pi"];
const KEY = ["sk", "ant", "api03", "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0LzXcVbNmQwErTy"].join("-");

const talk = (...parts: readonly object[]): Transcript =>
  [
    { id: "u1", role: "user", parts: [{ type: "text", text: "Please look." }] },
    { id: "a1", role: "assistant", parts },
    { id: "a2", role: "assistant", parts: [{ type: "text", text: "That is all." }] },
  ] as unknown as Transcript;

const ran = (tool: string, input: unknown, output = "out", callId = "c1") => ({
  type: "tool",
  callId,
  tool,
  input,
  outcome: { status: "done", output, attachments: [] },
});

function hand(transcript: Transcript, target: HandoffTarget, more: Partial<HandoffOptions> = {}): HandedOff {
  let count = 0;
  const newId = (): string => `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
  return handOff(transcript, {
    target,
    head: { id: newId(), cwd: "/home/you/shop", at: 1_700_000_000_000, title: "A talk", newId },
    secrets: "kept",
    source: { format: "codex", path: "/sessions/original.jsonl", sessionId: "abc" },
    ...more,
  });
}

async function readBack({ content }: HandedOff): Promise<Transcript> {
  return (await readTranscript(Buffer.from(content))).transcript;
}

const callsOf = (transcript: Transcript) =>
  transcript.flatMap(({ parts }) => parts.filter((part) => part.type === "tool"));
const textOf = (transcript: Transcript): string =>
  transcript.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join("\n");

describe.each(TARGETS)("a session handed to %s", (target) => {
  it("is one of its own, with the calls and results of the original", async () => {
    const handed = hand(
      talk({ type: "text", text: "I look." }, ran("exec_command", { cmd: "ls -l" })),
      target,
    );
    const { format, transcript } = await readTranscript(Buffer.from(handed.content));
    expect(format).toBe(target);
    const [call] = callsOf(transcript);
    expect(JSON.stringify(call?.input)).toContain("ls -l");
    expect(call && outcomeText(call.outcome)).toBe("out");
    expect(textOf(transcript)).toMatch(/^\[Handed over by Carryover from Codex, session abc: 1 tool call/);
    expect(textOf(transcript)).toContain("That is all.");
  });

  it("says in its first line what was done", async () => {
    const long = Array.from({ length: 4_000 }, (_, line) => `line ${line} of many`).join("\n");
    const handed = hand(talk(ran("bash", { command: "cat log" }, `${long}\n${KEY}`)), target, {
      budgetChars: 20_000,
      secrets: "taken-out",
    });
    expect(handed.notice).toContain("1 part shortened to fit; 1 secret taken out; reasoning left out");
    expect(handed.notice).toContain("The original is untouched: /sessions/original.jsonl");
    expect(handed.content).not.toContain(KEY);
    expect(textOf(await readBack(handed)).startsWith(handed.notice)).toBe(true);
  });

  it("leaves reasoning out, and a last question unasked", async () => {
    const handed = hand(
      talk({ type: "reasoning", text: "secret thoughts" }, ran("bash", { command: "ls" })),
      target,
    );
    expect(handed.content).not.toContain("secret thoughts");
    expect(handed.content).not.toContain('"Continue."');
  });

  it("names images, and says that they are not carried", async () => {
    const shot = { type: "file", mime: "image/png", filename: "shot.png" };
    const read = {
      ...ran("Read", { file_path: "/a.png" }, ""),
      outcome: { status: "done", output: "", attachments: [shot] },
    };
    const handed = hand(talk(read), target);
    expect(handed.notice).toContain("1 attached file named, not carried");
    expect(handed.content).toContain("[File: image/png shot.png]");
    expect(hand(talk(ran("bash", { command: "ls" })), target).notice).not.toContain("attached");
  });

  it("answers a call that was left open, and keeps a failure one", async () => {
    const open = {
      type: "tool",
      callId: "c1",
      tool: "bash",
      input: { command: "a" },
      outcome: { status: "pending" },
    };
    const failed = {
      ...ran("bash", { command: "b" }, "", "c2"),
      outcome: { status: "failed", error: "no such file" },
    };
    const { calls, results, content } = hand(talk(open, failed), target);
    expect([calls, results]).toEqual([2, 2]);
    expect(content).toContain("no such file");
  });

  it("is read back with as many calls, and as many characters of results", async () => {
    const file = resolve(import.meta.dirname, "../../examples/sessions/opencode-session.json");
    const { transcript } = await readTranscript(await readFile(file));
    const handed = hand(transcript, target);
    const back = callsOf(await readBack(handed));
    expect(back).toHaveLength(handed.calls);
    expect(handed.calls).toBeGreaterThan(20);
    expect(back.reduce((sum, { outcome }) => sum + outcomeText(outcome).length, 0)).toBe(handed.resultChars);
  });
});

describe("the tools of the receiver", () => {
  const translated = (tool: string, input: unknown, target: HandoffTarget) => {
    const { messages, foreign } = translateCalls(talk(ran(tool, input)), target);
    const [call] = callsOf(messages);
    return { tool: call?.tool, input: call?.input, foreign };
  };

  it("take what they can do themselves", () => {
    expect(translated("Bash", { command: "ls", description: "List" }, "codex")).toEqual({
      tool: "exec_command",
      input: { cmd: "ls" },
      foreign: [],
    });
    expect(translated("shell", { command: ["bash", "-lc", "ls -a"] }, "claude-code")).toMatchObject({
      tool: "Bash",
      input: { command: "ls -a" },
    });
    expect(translated("Read", { file_path: "/a", offset: 3 }, "opencode")).toMatchObject({
      tool: "read",
      input: { filePath: "/a", offset: 3 },
    });
    expect(translated("edit", { filePath: "/a", oldString: "b", newString: "c" }, "pi")).toMatchObject({
      tool: "edit",
      input: { path: "/a", edits: [{ oldText: "b", newText: "c" }] },
    });
  });

  it("show what they cannot do as a comment of the shell, which runs nothing", () => {
    expect(translated("Read", { file_path: "/a" }, "codex")).toEqual({
      tool: "exec_command",
      input: { cmd: '# Read {"file_path":"/a"}' },
      foreign: ["Read"],
    });
    const { input } = translated("mcp__x__y", { text: "two\nlines" }, "claude-code");
    expect(input).toEqual({ command: '# mcp__x__y {"text":"two\\nlines"}' });
    expect(
      translated("Edit", { file_path: "/a", old_string: "b", new_string: "c", replace_all: true }, "pi").tool,
    ).toBe("bash");
  });
});
