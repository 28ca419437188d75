import { describe, expect, it } from "vitest";
import { completedFork, endedRun } from "../../../test/rig/forks/fork-samples.ts";
import { resultNotice } from "../../fork/life/notice.ts";
import type { SessionMessage } from "../../formats/wires/opencode/decode-messages.ts";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import { findDelivery, type Handover } from "./find-delivery.ts";

const record = completedFork();
const notice = resultNotice([{ record, run: endedRun(record) }]);
const user = (text: string, id = "u"): SessionMessage => ({
  info: { id, role: "user" },
  parts: [{ type: "text", text }],
});
const tool = (status: string, output?: string, name = "bash"): SessionMessage => ({
  info: { id: "t", role: "assistant", finish: "tool-calls" },
  parts: [{ type: "tool", tool: name, callID: "c", state: { status, output } }],
});
const answer = (more: Readonly<Record<string, unknown>> = {}): SessionMessage => ({
  info: { id: "a", role: "assistant", finish: "stop", ...more },
  parts: [],
});
const byTool: Handover = { carrier: { type: "tool", callId: "c" }, atMs: 0 };
const byOwnTool: Handover = { carrier: { type: "own-tool" }, atMs: 0 };
const byMessage: Handover = { carrier: { type: "message", messageId: "m" }, atMs: 0 };

describe("a look for a result", () => {
  it.each([
    { name: "sees it in a message", messages: [user(notice)], found: "seen" },
    { name: "sees it on a tool output", messages: [tool("completed", `x\n\n${notice}`)], found: "seen" },
    { name: "sees an answer after it", messages: [user(notice), answer()], found: "answered" },
    { name: "takes no answer before it", messages: [answer(), user(notice)], found: "seen" },
    {
      name: "takes no error for an answer",
      messages: [user(notice), answer({ error: { name: "APIError" } })],
      found: "seen",
    },
    {
      name: "takes no summary for an answer",
      messages: [user(notice), answer({ summary: true })],
      found: "seen",
    },
    {
      name: "takes no tool step for an answer",
      messages: [user(notice), tool("completed", "x")],
      found: "seen",
    },
    { name: "is not fooled by the bare id", messages: [user("f1.1")], found: "absent" },
    { name: "misses what nobody carries", messages: [user("Hello.")], found: "absent" },
    {
      name: "waits for a tool that has not ended",
      messages: [tool("running")],
      handover: byTool,
      found: "in-flight",
    },
    {
      name: "misses it on a tool that has",
      messages: [tool("completed", "x")],
      handover: byTool,
      found: "absent",
    },
    { name: "misses it on a tool that failed", messages: [tool("error")], handover: byTool, found: "absent" },
    { name: "waits for a message that is not there", messages: [], handover: byMessage, found: "in-flight" },
    {
      name: "misses it in a message that is",
      messages: [user("x", "m")],
      handover: byMessage,
      found: "absent",
    },
    {
      name: "waits for a tool of ours that has not ended",
      messages: [tool("running", undefined, "fork_cancel")],
      handover: byOwnTool,
      found: "in-flight",
    },
    {
      name: "does not wait for other tools when ours has ended",
      messages: [tool("completed", "x", "fork_cancel"), tool("running")],
      handover: byOwnTool,
      found: "absent",
    },
    {
      name: "waits as long as a busy host may take, since what is sent again would come twice",
      messages: [],
      handover: byMessage,
      nowMs: 119_000,
      found: "in-flight",
    },
    { name: "does not wait for ever", messages: [], handover: byMessage, nowMs: 120_000, found: "absent" },
  ])("$name", ({ messages, handover, nowMs = 1_000, found }) => {
    const wanted = { delivery: "f1.1", nowMs, ...(handover && { handover }) };
    expect(findDelivery(opencode.decode(messages), wanted)).toBe(found);
  });
});
