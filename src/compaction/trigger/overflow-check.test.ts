import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import { pendingMarker } from "../../stages/boundary.ts";
import type { Message } from "../../transcript/message.ts";
import { isOverflow, stepToCheck } from "./overflow.ts";

const limits = { contextTokens: 100_000, outputTokens: 20_000 };
const user = (id: string): Message => ({ id, role: "user", parts: [{ type: "text", text: "go on" }] });
const step = (id: string, inputTokens: number, more: Partial<Message> = {}): Message => ({
  id,
  role: "assistant",
  parts: [{ type: "text", text: "done" }],
  finish: "stop",
  usage: { inputTokens, outputTokens: 0, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  ...more,
});
const marker = (id: string): Message => ({
  id,
  role: "user",
  parts: [{ type: "compaction", trigger: "auto" }],
});
const summary = (id: string, parentId: string, more: Partial<Message> = {}): Message =>
  step(id, 90_000, { summary: true, parentId, ...more });
const check = (...messages: Message[]) => {
  const { overflow } = isOverflow({ usage: stepToCheck(deepFreeze(messages))?.usage, limits });
  if (!overflow) return "none";
  return pendingMarker(messages) !== undefined ? "wait" : "mark";
};

describe("the newest step", () => {
  it("asks for a marker when the newest step filled the window", () => {
    expect(check(user("1"), step("2", 80_001))).toBe("mark");
    expect(check(user("1"), step("2", 80_000))).toBe("none");
  });

  it("a step that ended in tool calls is checked as well", () => {
    expect(check(user("1"), step("2", 90_000, { finish: "tool-calls" }))).toBe("mark");
  });

  it("looks at the newest finished step, past one that is running or failed", () => {
    const { finish: _, ...running } = step("3", 10);
    const failed = step("4", 10, { error: { name: "Aborted", text: "stopped" } });
    expect(check(user("1"), step("2", 90_000), running, failed)).toBe("mark");
    expect(check(user("1"), step("2", 90_000), step("3", 10))).toBe("none");
  });

  it("neither a summary nor the usage from before it is checked", () => {
    expect(check(user("1"), step("2", 90_000), marker("3"), summary("4", "3"))).toBe("none");
    expect(check(user("1"), step("2", 90_000), marker("3"), summary("4", "3"), step("5", 85_000))).toBe(
      "mark",
    );
  });

  it("a pending marker suppresses a second one", () => {
    expect(check(user("1"), step("2", 90_000), marker("3"))).toBe("wait");
    const { finish: _, ...writing } = summary("4", "3");
    expect(check(user("1"), step("2", 90_000), marker("3"), writing)).toBe("wait");
  });

  it("a failed summary does not keep its marker pending", () => {
    const { finish: _, ...failed } = summary("4", "3", { error: { name: "Error", text: "no answer" } });
    expect(pendingMarker([marker("3"), failed])).toBe(undefined);
    expect(pendingMarker([marker("3")])).toMatchObject({ type: "compaction" });
    expect(pendingMarker([user("1")])).toBe(undefined);
  });

  it("has nothing to check in a conversation without a finished step", () => {
    expect(stepToCheck([])).toBeUndefined();
    expect(stepToCheck([user("1")])).toBeUndefined();
    expect(check(user("1"))).toBe("none");
  });

  it("does not look at a step that the model no longer sees", () => {
    expect(check(user("1"), step("2", 90_000, { metadata: { agentVisible: false } }))).toBe("none");
  });
});
