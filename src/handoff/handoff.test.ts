import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { boundFiles } from "../../test/rig/bound-thinking/bound-files.ts";
import { hand, KEY, ran, readBack, TARGETS, talk } from "../../test/rig/handoffs.ts";
import { fileBase64 } from "../formats/content/foreign-parts.ts";
import { codex } from "../formats/files/codex/codex.ts";
import { readTranscript } from "../formats/read-transcript.ts";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import { outcomeText } from "../transcript/content.ts";
import type { Transcript } from "../transcript/message.ts";
import { type HandoffTarget, RECEIVERS } from "./receivers.ts";
import { translateCalls } from "./tool-calls.ts";

const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PNG = { type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE } };

/** What Anthropic's format has read, with bytes: content of the user, and an image that a tool gave. */
function anthropicTalk(content: readonly object[]): Transcript {
  return anthropic.decode([
    { role: "user", content: [{ type: "text", text: "Look at it." }, ...content] },
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "c1", name: "bash", input: { command: "shot" } }],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "a picture" }, PNG] },
      ],
    },
  ]);
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
    expect(handed.notice).toContain(
      "1 tool call with its result; 1 part shortened to fit; 1 secret taken out.",
    );
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
    expect(handed.notice).toContain("; reasoning left out.");
    expect(handed.content).not.toContain('"Continue."');
  });

  it.each(["claude-code", "pi", "opencode", "anthropic", "ai-sdk"] as const)(
    "holds no thought of %s, also of the same agent and model, for what stands before it is another's",
    async (format) => {
      const file = boundFiles({ model: "claude-opus-5-5", steps: 4 }).find((each) => each.format === format);
      const { transcript } = await readTranscript(Buffer.from(file?.text ?? ""));
      const { content, notice } = hand(transcript, target, {
        calls: format === target ? "kept" : "translated",
        source: { format, path: "/sessions/original" },
      });
      expect(content).toContain("call_3");
      expect(content).not.toMatch(/Thought \d|signature/i);
      expect(notice).toContain("reasoning left out");
    },
  );

  it("carries images as they are, of the user and of results, and names what it cannot carry", async () => {
    const said = anthropicTalk([
      PNG,
      { type: "document", source: { type: "base64", media_type: "application/pdf" } },
    ]);
    const handed = hand(said, target);
    expect(handed).toMatchObject({ images: 2, files: 1 });
    expect(handed.notice).toContain("2 images carried; 1 attached file named, not carried");
    expect(handed.content).toContain("[File: application/pdf]");
    const back = await readBack(handed);
    const files = back.flatMap(({ parts }) => parts.filter((part) => part.type === "file"));
    const [call] = callsOf(back);
    const attached = call?.outcome.status === "done" ? call.outcome.attachments : [];
    expect([...files, ...attached].map(fileBase64)).toEqual([IMAGE, IMAGE]);
    expect(call && outcomeText(call.outcome)).toBe("a picture");
    expect(hand(talk(ran("bash", { command: "ls" })), target).notice).not.toMatch(/image|attached/);
  });

  it("names an image whose content is not at hand", () => {
    const shot = { type: "file", mime: "image/png", filename: "shot.png" };
    const read = {
      ...ran("Read", { file_path: "/a.png" }, ""),
      outcome: { status: "done", output: "", attachments: [shot] },
    };
    const handed = hand(talk(read), target);
    expect(handed.notice).toContain("1 attached file named, not carried");
    expect(handed.content).toContain("[File: image/png shot.png]");
  });

  it("begins with what was said, and tells a summary as one: no question is invented", async () => {
    const compacted = [
      { id: "u0", role: "user", parts: [{ type: "text", text: "Long ago." }] },
      { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
      { id: "s", role: "assistant", summary: true, parts: [{ type: "text", text: "They counted." }] },
      { id: "a", role: "assistant", parts: [{ type: "text", text: "Going on." }] },
    ] as unknown as Transcript;
    const source = { format: "claude-code", path: "/original" } as const;
    const handed = hand(compacted, target, { budgetChars: 50_000, source });
    const back = await readBack(handed);
    expect(handed.notice).toContain("no tool calls; 2 messages left out that a summary stands for.");
    const said = (role: string): string => textOf(back.filter((message) => message.role === role));
    expect(said("assistant")).toBe("Going on.");
    expect(said("user")).toContain(
      "[Summary of what was said before, as it stood in the session]\nThey counted.",
    );
    expect(handed.content).not.toContain("What did we do so far?");
    const answers = [{ id: "a", role: "assistant", parts: [{ type: "text", text: "Hello." }] }];
    const first = hand(answers as unknown as Transcript, target);
    expect(textOf(await readBack(first)).trim()).toBe(`${first.notice}\n\nHello.`);
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
    const { calls, results, content, notice } = hand(talk(open, failed), target);
    expect([calls, results]).toEqual([2, 1]);
    expect(notice).toContain("2 tool calls, 1 of them without a result");
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

describe("a compaction of Codex whose summary cannot be read", () => {
  const item = (role: string, ...texts: readonly string[]) => ({
    type: "message",
    role,
    content: texts.map((text) => ({ type: role === "assistant" ? "output_text" : "input_text", text })),
  });
  const line = (type: string, payload: object) => ({ timestamp: "2026-11-16T10:00:00Z", type, payload });
  const context = item(
    "user",
    "# AGENTS.md instructions for /a",
    "<environment_context>\n</environment_context>",
  );
  const encrypted = { type: "compaction", id: "c", encrypted_content: "gAAAA" };
  const wire = (...history: readonly object[]) => [
    line("session_meta", { id: "abc", cwd: "/a" }),
    ...[
      item("developer", "<permissions>"),
      context,
      item("user", "Count them."),
      item("assistant", "Forty."),
    ].map((payload) => line("response_item", payload)),
    line("compacted", { message: "", replacement_history: history }),
    line("response_item", item("user", "And now?")),
  ];
  const history = [
    item("user", "Count them."),
    item("developer", "<permissions>"),
    context,
    item("user", "Wait."),
  ];

  it.each(TARGETS)("brings back what stood before, each in its own mouth, in %s", async (target) => {
    const handed = hand(codex.decode(wire(...history, encrypted)), target, { budgetChars: 50_000 });
    expect(handed).toMatchObject({ unreadable: 1, broughtBack: 2, summarized: 0, leftOut: 0 });
    expect(handed.notice).toContain(
      "2 messages brought back, since the summary that stood for them cannot be read here",
    );
    const back = await readBack(handed);
    const said = (role: string): string => textOf(back.filter((message) => message.role === role));
    expect(said("user").replace(handed.notice, "").trim().split(/\n+/)).toEqual([
      "Count them.",
      "Wait.",
      "And now?",
    ]);
    expect(said("assistant")).toBe("Forty.");
    expect(handed.content).not.toMatch(/permissions|AGENTS|environment_context|What did we do/);
  });

  it("is said to be none where there is none", () => {
    const handed = hand(codex.decode(wire(...history)), "pi", { budgetChars: 50_000 });
    expect(handed.notice).toContain("2 messages brought back, since the compaction left no summary");
  });

  it("is none where it can be read: the user's words are theirs, the summary is one", async () => {
    const lines = wire(item("user", "Count them."), item("user", "Another model counted forty."));
    const read = lines.map((each) =>
      each.type === "compacted"
        ? { ...each, payload: { ...each.payload, message: "Another model counted forty." } }
        : each,
    );
    const handed = hand(codex.decode(read), "pi", { budgetChars: 50_000 });
    const [first] = await readBack(handed);
    expect(handed).toMatchObject({ unreadable: 0, broughtBack: 0, summarized: 3 });
    expect(first?.role).toBe("user");
    expect(first?.parts.map((part) => (part.type === "text" ? part.text : "")).slice(1)).toEqual([
      "Count them.",
      "[Summary of what was said before, as it stood in the session]\nAnother model counted forty.",
      "And now?",
    ]);
  });
});

describe("what is damaged", () => {
  it("is told as what it is: a result without its call, and characters that no provider takes", async () => {
    const lost = { ...ran("unknown", undefined, "the list"), callMissing: true };
    const handed = hand(talk(lost, ran("bash", { command: "ls" }, "a\0\0b", "c2")), "codex");
    expect(handed).toMatchObject({ calls: 1, results: 1, lostCalls: 1, nulChars: 2, foreign: [] });
    expect(handed.notice).toContain("1 result as text, for want of the call; 2 NUL characters shown as ␀");
    const back = await readBack(handed);
    expect(textOf(back)).toContain("[The result of a call that is not in the session]\nthe list");
    expect(callsOf(back).map(({ outcome }) => outcomeText(outcome))).toEqual(["a\u2400b"]);
  });

  it("has no word for a session without an id", () => {
    const source = { format: "opencode", path: "/original" } as const;
    expect(hand(talk(), "pi", { source }).notice).toContain("from OpenCode: no tool calls");
  });

  it("counts lines that were read in part apart from those that were not", () => {
    const source = { format: "pi", path: "/original", damagedLines: 2, mendedLines: 1 } as const;
    expect(hand(talk(), "pi", { source }).notice).toContain(
      "2 damaged lines left out; 1 damaged line read as far as possible",
    );
  });
});

describe("images within a budget", () => {
  it("are counted as what they cost: the newest come along, the others are named", () => {
    const said = anthropicTalk([PNG]);
    expect(hand(said, "pi", { budgetChars: 100_000 })).toMatchObject({ images: 2, files: 0 });
    const handed = hand(said, "pi", { budgetChars: 12_000 });
    expect(handed).toMatchObject({ images: 1, files: 1 });
    expect(handed.content.indexOf(IMAGE)).toBeGreaterThan(handed.content.indexOf("a picture"));
    expect(hand(said, "pi", { budgetChars: 5_000 }).images).toBe(0);
  });
});

describe("the tools of the receiver", () => {
  const translated = (tool: string, input: unknown, target: HandoffTarget) => {
    const { messages, foreign } = translateCalls(talk(ran(tool, input)), RECEIVERS[target].tools);
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
    const all = { file_path: "/a", old_string: "b", new_string: "c", replace_all: true };
    const one = { ...all, replace_all: false };
    expect(translated("Edit", all, "pi").tool).toBe("bash");
    expect(hand(talk(ran("Edit", all), ran("Edit", one, "out", "c2")), "pi").notice).toContain(
      "1 call without a counterpart here (Edit) shown as a comment of the shell",
    );
  });

  it("stay a comment on one line whatever the name holds, which the notice names as shortly", async () => {
    const weird = ran(`Weird\`tool\n$(id)${"x".repeat(100)}`, { text: "a\u0085b\u2028c\u007f" });
    for (const target of TARGETS) {
      const handed = hand(talk(weird), target);
      expect(handed.foreign).toEqual([`Weird_tool_id_${"x".repeat(48)}`]);
      expect(handed.notice).toMatch(/^\P{C}+$/u);
      const [call] = callsOf(await readBack(handed));
      const given = JSON.stringify(call?.input);
      expect(given).toMatch(/"# Weird_tool_id_x+ \{\\"text\\":\\"a b c \\"\}"/);
      const source = { format: target, path: "/copy" } as const;
      expect(hand(await readBack(handed), target, { source }).from).toBe("Codex, session abc");
    }
  });

  it("keep their names and inputs in a session of the same agent", async () => {
    const calls = [ran("Glob", { pattern: "*" }), ran("TaskCreate", { subject: "a" }, "out", "c2")];
    const handed = hand(talk(...calls), "claude-code", { calls: "kept" });
    expect(callsOf(await readBack(handed))).toMatchObject([
      { tool: "Glob", input: { pattern: "*" } },
      { tool: "TaskCreate", input: { subject: "a" } },
    ]);
    expect(handed).toMatchObject({ foreign: [], commented: 0 });
    const patch = hand(talk(ran("apply_patch", "*** Begin Patch")), "codex", { calls: "kept" });
    expect(patch.content).toContain('"type":"custom_tool_call"');
    expect(callsOf(await readBack(patch))).toMatchObject([{ tool: "apply_patch", input: "*** Begin Patch" }]);
    const old = hand(talk(ran("apply_patch", { patch: "a" })), "codex", { calls: "kept" });
    expect(old.content).not.toContain("custom_tool_call");
    const found = ran("tool_search", { query: "git" }, '[{"name":"git"}]');
    const search = hand(talk(found), "codex", { calls: "kept" });
    expect(search.content).toContain('"type":"tool_search_call"');
    expect(search.content).toContain('"tools":[{"name":"git"}]');
    expect(callsOf(await readBack(search))).toMatchObject([{ tool: "tool_search", input: { query: "git" } }]);
  });
});
