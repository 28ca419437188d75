import { describe, expect, it } from "vitest";
import { completedFork, endedRun } from "../../../test/rig/forks/fork-samples.ts";
import { resultNotice } from "../../fork/life/notice.ts";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import { type Carrier, findDelivery, lastUserTurn } from "./deliveries.ts";

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
const byTool: Carrier = { thing: { type: "tool", callId: "c" }, atMs: 0 };
const byOwnTool: Carrier = { thing: { type: "own-tool" }, atMs: 0 };
const byMessage: Carrier = { thing: { type: "message", messageId: "m" }, atMs: 0 };

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
      carrier: byTool,
      found: "in-flight",
    },
    {
      name: "misses it on a tool that has",
      messages: [tool("completed", "x")],
      carrier: byTool,
      found: "absent",
    },
    { name: "misses it on a tool that failed", messages: [tool("error")], carrier: byTool, found: "absent" },
    { name: "waits for a message that is not there", messages: [], carrier: byMessage, found: "in-flight" },
    {
      name: "misses it in a message that is",
      messages: [user("x", "m")],
      carrier: byMessage,
      found: "absent",
    },
    {
      name: "waits for a tool of ours that has not ended",
      messages: [tool("running", undefined, "fork_cancel")],
      carrier: byOwnTool,
      found: "in-flight",
    },
    {
      name: "does not wait for other tools when ours has ended",
      messages: [tool("completed", "x", "fork_cancel"), tool("running")],
      carrier: byOwnTool,
      found: "absent",
    },
    {
      name: "waits as long as a busy host may take, since what is sent again would come twice",
      messages: [],
      carrier: byMessage,
      nowMs: 119_000,
      found: "in-flight",
    },
    { name: "does not wait for ever", messages: [], carrier: byMessage, nowMs: 120_000, found: "absent" },
  ])("$name", ({ messages, carrier, nowMs = 1_000, found }) => {
    const wanted = { delivery: "f1.1", nowMs, ...(carrier === undefined ? {} : { carrier }) };
    expect(findDelivery(messages, wanted)).toBe(found);
  });
});

describe("the turn that a delivery repeats", () => {
  const turn = (agent: string, part: Readonly<Record<string, unknown>>): SessionMessage => ({
    info: { role: "user", agent, model: { providerID: "p", modelID: agent } },
    parts: [{ type: "text", text: "x", ...part }],
  });

  it.each([
    { name: "is the newest of the user", messages: [turn("one", {}), turn("two", {})], agent: "two" },
    {
      name: "is not one of a program",
      messages: [turn("one", {}), turn("two", { synthetic: true })],
      agent: "one",
    },
    {
      name: "is not a request to compact",
      messages: [turn("one", {}), turn("two", { type: "compaction" })],
      agent: "one",
    },
    { name: "is any where there is no other", messages: [turn("one", { synthetic: true })], agent: "one" },
  ])("$name", ({ messages, agent }) => {
    expect(lastUserTurn(messages)).toEqual({ agent, model: { providerId: "p", modelId: agent } });
  });
});
