import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Message, Transcript } from "../../transcript/message.ts";
import type { ToolPart } from "../../transcript/part.ts";
import { profileSession } from "./profile-session.ts";

const user = (id: string, text: string): Message => ({ id, role: "user", parts: [{ type: "text", text }] });

function call(id: string, tool: string, input: unknown, output: string): Message {
  const outcome: ToolPart["outcome"] = { status: "done", output, attachments: [] };
  return { id, role: "assistant", parts: [{ type: "tool", callId: id, tool, input, outcome }] };
}

const profile = (transcript: Transcript, top = 3) => profileSession(deepFreeze(transcript), { top });

describe("profileSession", () => {
  it("says nothing of an empty session", () => {
    expect(profile([])).toMatchObject({ messages: 0, toolResults: 0, chars: 0, tokens: 0, largest: [] });
  });

  it("sorts what fills the window by kind, tool and file", () => {
    const { byKind, byTool, byFile, chars } = profile([
      user("u", "x".repeat(10)),
      call("a", "read", { filePath: "a.ts" }, "y".repeat(5000)),
      call("b", "bash", { command: "ls" }, "z".repeat(500)),
      call("c", "edit", { filePath: "a.ts", oldString: "1", newString: "2" }, "done"),
    ]);
    expect(byKind.map(({ kind, count }) => `${kind} ${count}`)).toEqual([
      "tool output 3",
      "tool input 3",
      "user 1",
    ]);
    expect(byKind.reduce((sum, each) => sum + each.chars, 0)).toBe(chars);
    expect(byTool.map(({ tool, calls }) => `${tool} ${calls}`)).toEqual(["read 1", "bash 1", "edit 1"]);
    expect(byFile).toMatchObject([{ path: "a.ts", reads: 1, changes: 1, repeatedReads: 0 }]);
  });

  it("counts a picture that a tool returned under that tool", () => {
    const picture = { type: "file", mime: "image/png" } as const;
    const outcome = { status: "done", output: "", attachments: [picture] } as const;
    const shot: Message = {
      id: "a",
      role: "assistant",
      parts: [{ type: "tool", callId: "a", tool: "screenshot", input: {}, outcome }],
    };
    const { byTool, byKind } = profile([shot]);
    expect(byTool).toMatchObject([{ tool: "screenshot", calls: 1 }]);
    expect(byTool[0]?.tokens).toBe(byKind.reduce((sum, { tokens }) => sum + tokens, 0));
  });

  it("counts a read again only for the same lines", () => {
    const { byFile, superseded } = profile([
      call("a", "read", { filePath: "a.ts" }, "y".repeat(900)),
      call("b", "read", { filePath: "a.ts", offset: 100, limit: 20 }, "other lines"),
      call("c", "read", { filePath: "a.ts" }, "y".repeat(900)),
      user("u", "go on"),
    ]);
    expect(byFile).toMatchObject([{ path: "a.ts", reads: 3, repeatedReads: 1, repeatedChars: 900 }]);
    expect(superseded.results).toBe(1);
  });

  it("tells the window from what a compaction has summed up", () => {
    const marker: Message = { id: "m", role: "user", parts: [{ type: "compaction", trigger: "auto" }] };
    const summary: Message = {
      id: "s",
      role: "assistant",
      summary: true,
      finish: "stop",
      parentId: "m",
      parts: [{ type: "text", text: "in short" }],
    };
    const old = [user("u1", "o".repeat(1000)), call("a", "read", { filePath: "a.ts" }, "y".repeat(900))];
    const { window, chars, compactions, byKind } = profile([...old, marker, summary, user("u2", "new")]);
    expect(compactions).toBe(1);
    expect(window).toMatchObject({ toolResults: 0, chars: "in short".length + "new".length });
    expect(chars).toBeGreaterThan(1900);
    expect(byKind.map(({ kind }) => kind)).toEqual(["summary", "user"]);
  });

  it("believes the provider's count, but not one from before the compaction", () => {
    const usage = {
      inputTokens: 90_000,
      outputTokens: 1,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    };
    const answer = (id: string): Message => ({
      id,
      role: "assistant",
      finish: "stop",
      usage,
      parts: [{ type: "text", text: "yes" }],
    });
    expect(profile([user("u", "?"), answer("a")]).window).toMatchObject({ source: "usage", tokens: 90_001 });
    const marker: Message = {
      id: "m",
      role: "user",
      parts: [{ type: "compaction", trigger: "auto", tailStartId: "a" }],
    };
    const summary: Message = { ...answer("s"), summary: true, parentId: "m" };
    const after = profile([user("u", "?"), answer("a"), marker, summary, user("v", "!")]).window;
    expect(after).toMatchObject({ source: "heuristic" });
    expect(after.tokens).toBeLessThan(100);
  });

  it("names the largest items by place, never by what they say", () => {
    const { largest } = profile(
      [user("u", "secret words"), call("a", "bash", { command: "cat it" }, "y".repeat(99))],
      1,
    );
    expect(largest).toMatchObject([{ kind: "tool output", handle: "a/0", tool: "bash", chars: 99 }]);
    expect(JSON.stringify(largest)).not.toMatch(/secret|cat it|yyy/);
  });
});
