import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import { filterCompacted } from "../../../stages/boundary.ts";
import { asObject, type UnknownObject } from "../../../text/unknown-value.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { readTranscript } from "../../read-transcript.ts";
import { claudeCode } from "./claude-code.ts";

function recorded(name: string): readonly UnknownObject[] {
  const file = new URL(`../../../../test/recordings/claude-code/${name}.jsonl`, import.meta.url);
  return deepFreeze(
    readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
}

const hide = (messageId: string): Edit => ({
  type: "hide-message",
  messageId,
  stage: "test",
  reason: "test",
});

describe("reading", () => {
  it.each([
    {
      origin: { kind: "task-notification" },
      content: "<task-notification>done</task-notification>",
      own: true,
    },
    { origin: undefined, content: "<task-notification>done</task-notification>", own: true },
    { origin: { kind: "auto-continuation" }, content: [{ type: "text", text: "Continue" }], own: true },
    { origin: { kind: "human" }, content: "<task-notification> is a tag that I ask about", own: false },
    { origin: { kind: "voice-call" }, content: "hello", own: false },
    { origin: undefined, content: "hello", own: false },
  ])("tells what the agent says in the user's name from what was typed: $origin $content", (line) => {
    const { origin, content, own } = line;
    const [message] = claudeCode.decode([
      { type: "user", uuid: "a", parentUuid: null, origin, message: { role: "user", content } },
    ]);
    expect(message?.parts.map((part) => part.type === "text" && part.synthetic === true)).toEqual([own]);
  });

  it("takes what a search for tools has found for names, not for files", () => {
    const found = ["WebFetch", "Monitor"].map((tool_name) => ({ type: "tool_reference", tool_name }));
    const call = { type: "tool_use", id: "t1", name: "ToolSearch", input: { query: "web" } };
    const result = { type: "tool_result", tool_use_id: "t1", content: found };
    const transcript = claudeCode.decode([
      {
        type: "assistant",
        uuid: "a",
        parentUuid: null,
        message: { id: "m", role: "assistant", content: [call] },
      },
      { type: "user", uuid: "b", parentUuid: "a", message: { role: "user", content: [result] } },
    ]);
    expect(transcript[0]?.parts).toMatchObject([
      { tool: "ToolSearch", outcome: { status: "done", output: "WebFetch\nMonitor", attachments: [] } },
    ]);
  });

  it.each([
    {
      name: "session",
      notation: "u:60 a:23(Read:112,Read:31) a(Bash!56) a(Screenshot:8) a:53 u:6 a(Edit:53) a:37",
    },
    { name: "rewind", notation: "u:17 a:14 u:21 a:6" },
    { name: "missing-parent", notation: "u:16 a(Bash:2) a:13 u:12 a:6" },
    { name: "sidechain", notation: "u:16 a(Task:13) a:17" },
    { name: "sub-agent", notation: "u:11 a(Glob:4) a:9" },
    { name: "compaction", notation: "u:27 a(Read:47) m s:125 a(Bash:9) a:15 u:6 m s:125 a(Bash:9) a:15 u:7" },
  ])("$name", ({ name, notation }) => {
    expect(notate(claudeCode.decode(recorded(name)))).toBe(notation);
  });

  it("joins the lines of one answer and reads what it cost", () => {
    const answer = claudeCode.decode(recorded("session"))[1];
    expect(answer).toMatchObject({
      id: "msg_a1",
      finish: "tool_use",
      model: { provider: "anthropic", id: "claude-opus-4-6" },
      usage: { inputTokens: 4, outputTokens: 90, cacheReadTokens: 12_000, cacheWriteTokens: 800 },
    });
    expect(answer?.parts.map(({ type }) => type)).toEqual(["reasoning", "text", "tool", "tool"]);
  });

  it("gives the window behind the newest compaction", () => {
    expect(notate(filterCompacted(claudeCode.decode(recorded("compaction"))))).toBe(
      "m s:125 a(Bash:9) a:15 u:7",
    );
  });

  it("gives the tail that the newest compaction kept, behind its summary", () => {
    const transcript = claudeCode.decode(recorded("requests"));
    expect(notate(transcript)).toBe("u:19 a(Bash:220) a:17 u:14 a:6 m s:58 u:12 a:6");
    expect(notate(filterCompacted(transcript))).toBe("m s:58 u:14 a:6 u:12 a:6");
    expect(transcript.map(({ usage }) => usage?.inputTokens)).toEqual([
      ...[undefined, 10, 12, undefined, 14, undefined, undefined, undefined, 16],
    ]);
  });

  it("goes on with the line before where a parent is not in the file", () => {
    const [first, second, ...rest] = recorded("compaction");
    const torn = [{ ...first, parentUuid: "gone" }, { ...second, parentUuid: "gone too" }, ...rest];
    expect(claudeCode.decode(torn)).toHaveLength(12);
  });

  it.each([
    { wire: [] },
    { wire: [null, 4, "x", [], {}] },
    { wire: [{ type: "user", uuid: 3, message: 4 }] },
  ])("finds nothing in $wire", ({ wire }) => expect(claudeCode.decode(wire)).toEqual([]));

  it("ends where lines are each other's parents", () => {
    const line = (uuid: string, parentUuid: string) => ({
      type: "user",
      uuid,
      parentUuid,
      message: { content: uuid },
    });
    expect(claudeCode.decode([line("a", "b"), line("b", "a")])).toHaveLength(2);
  });
});

/** A line of a session that says one thing. */
function line(uuid: string, parentUuid: string | null, message: object): object {
  return { type: "role" in message ? "assistant" : "user", uuid, parentUuid, sessionId: "s", message };
}

const said = (id: string, text: string) => ({ id, role: "assistant", content: [{ type: "text", text }] });

describe("an answer whose lines hang beside each other", () => {
  const wire = deepFreeze([
    line("u1", null, { content: "go" }),
    line("a1", "u1", said("answer", "other")),
    line("u2", "u1", { content: "more" }),
    line("a2", "u2", said("answer", "one")),
    line("a3", "a2", said("next", "last")),
  ]);

  it("is read with all of them", () => {
    expect(notate(claudeCode.decode(wire))).toBe("u:2 a:8 u:4 a:4");
  });

  it("keeps the others when the one that held them leaves", () => {
    const edit = {
      type: "hide-part",
      what: "part",
      messageId: "answer",
      partIndex: 1,
      stage: "test",
      reason: "test",
    };
    const edited = claudeCode.decode(claudeCode.apply(wire, [edit as Edit], { at: 1 }));
    expect(edited.flatMap(({ parts }) => parts)).toContainEqual({ type: "text", text: "other" });
    expect(edited).toHaveLength(4);
  });
});

it("keeps a result that stands before its call when only live lines are kept", async () => {
  const call = { id: "answer", role: "assistant", content: [{ type: "tool_use", id: "t", name: "Read" }] };
  const result = { content: [{ type: "tool_result", tool_use_id: "t", content: "read" }] };
  const lines = [
    line("u1", null, { content: "go" }),
    line("r", "a1", result),
    line("a1", "u1", call),
    { type: "attachment", uuid: "x", parentUuid: "r", sessionId: "s" },
    line("a2", "x", said("next", "last")),
  ];
  const bytes = Buffer.from(lines.map((each) => `${JSON.stringify(each)}\n`).join(""));
  const { transcript } = await readTranscript(bytes, { keep: "live" });
  expect(notate(transcript)).toBe("u:2 a(Read:4) a:4");
});

describe("writing", () => {
  it("keeps the chain of parents whole around lines that leave", () => {
    const wire = recorded("session");
    const edited = claudeCode.apply(wire, [hide("msg_a1"), hide("msg_a2")], { at: 1 });
    const ids = new Set(edited.map((line) => asObject(line).uuid));
    for (const line of edited) {
      const { parentUuid } = asObject(line);
      if (typeof parentUuid === "string") expect(ids).toContain(parentUuid);
    }
    expect(notate(claudeCode.decode(edited))).toBe("u:60 a(Screenshot:8) a:53 u:6 a(Edit:53) a:37");
    expect(edited.filter((line) => asObject(line).type === "system")).toHaveLength(3);
  });

  it("leaves lines that no edit touches as they are", () => {
    const wire = recorded("session");
    const edit: Edit = {
      type: "hide-part",
      what: "output",
      messageId: "msg_a2",
      partIndex: 0,
      stage: "test",
      reason: "pruned",
    };
    const edited = claudeCode.apply(wire, [edit], { at: 1 });
    const changed = edited.filter((line, index) => line !== wire[index]);
    expect(changed).toHaveLength(1);
    expect(changed[0]).not.toHaveProperty("toolUseResult");
    expect(asObject(changed[0]).message).toMatchObject({
      content: [{ tool_use_id: "toolu_03", content: "[Old tool result content cleared]" }],
    });
  });

  it("does not bring a rewound branch back when the newest lines leave", () => {
    const wire = recorded("rewind");
    const ids = claudeCode.decode(wire).map(({ id }) => id);
    const edited = claudeCode.apply(wire, ids.slice(2).map(hide), { at: 1 });
    expect(notate(claudeCode.decode(edited))).toBe("u:17 a:14");
    expect(edited).toHaveLength(wire.length - 2);
  });

  it("leaves records of requests out as soon as anything is edited: they hold every message again", () => {
    const wire = recorded("requests");
    const types = (lines: readonly unknown[]) => lines.map((line) => `${asObject(line).type}`);
    expect(types(wire).filter((type) => type.startsWith("api-request"))).toHaveLength(4);
    const edited = claudeCode.apply(wire, [hide("msg_2")], { at: 1 });
    expect(types(edited).filter((type) => type.startsWith("api-request"))).toEqual([]);
    expect(types(edited)).toContain("cost-state");
    expect(claudeCode.apply(wire, [], { at: 1 })).toBe(wire);
  });

  it("writes a compaction as the agent does", () => {
    const wire = recorded("rewind");
    const [first, second] = claudeCode.decode(wire);
    const why = { stage: "test", reason: "summarized" } as const;
    const edited = claudeCode.apply(
      wire,
      [
        hide(first?.id ?? ""),
        hide(second?.id ?? ""),
        {
          type: "insert-message",
          after: second?.id ?? null,
          message: { id: "marker", role: "user", parts: [{ type: "compaction", trigger: "auto" }] },
          ...why,
        },
        {
          type: "insert-message",
          after: "marker",
          message: {
            id: "told",
            role: "assistant",
            summary: true,
            finish: "stop",
            parts: [{ type: "text", text: "so far" }],
          },
          ...why,
        },
      ],
      { at: 0 },
    );
    const own = edited.map(asObject).filter(({ uuid }) => uuid === "marker" || uuid === "told");
    expect(own).toMatchObject([
      { type: "system", subtype: "compact_boundary", parentUuid: null, sessionId: wire[0]?.sessionId },
      { type: "user", isCompactSummary: true, parentUuid: "marker", timestamp: "1970-01-01T00:00:00.000Z" },
    ]);
    expect(notate(filterCompacted(claudeCode.decode(edited)))).toBe("m s:6 u:21 a:6");
  });
});
