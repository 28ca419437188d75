import { describe, expect, it } from "vitest";
import { deepFreeze } from "../../../test/rig/notation.ts";
import type { Message } from "../../transcript/message.ts";
import { checkChild } from "./check-child.ts";

const text = (words: string) => ({ type: "text", text: words }) as const;
const prompt: Message = { id: "p", role: "user", parts: [text("do it")] };
const says = (words: string, rest: Partial<Message> = { finish: "stop" }): Message => ({
  id: words,
  role: "assistant",
  parts: words === "" ? [] : [text(words)],
  ...rest,
});

const look = (...messages: readonly Message[]) =>
  checkChild({ messages: deepFreeze(messages), promptMessageId: "p", status: "idle" });

describe("checkChild", () => {
  it("takes the last finished answer after our prompt for the report", () => {
    expect(look(says("old"), prompt, says("step", { finish: "tool-calls" }), says("report"))).toEqual({
      type: "finished",
      text: "report",
      lastText: "report",
      changedFiles: [],
    });
  });

  it.each<[string, readonly Message[], string]>([
    ["an answer before our prompt is none to it", [says("old"), prompt], ""],
    ["a tool step is no end", [prompt, says("step", { finish: "tool-calls" })], "step"],
    ["an answer that was cut off is no end", [prompt, says("half", { unfinished: true })], "half"],
    ["an answer that does not say how it ended is no end", [prompt, says("half", {})], "half"],
    ["a summary is no answer", [prompt, says("sum", { finish: "stop", summary: true })], ""],
  ])("%s", (_, messages, lastText) => {
    expect(look(...messages)).toEqual({ type: "stopped", lastText, changedFiles: [] });
  });

  it("reports what was said, not what was thought or shown to the user only", () => {
    const parts = [
      { type: "reasoning", text: "hm" },
      text("report"),
      { type: "text", text: "shown", ignored: true },
    ] as const;
    expect(look(prompt, { id: "a", role: "assistant", parts, finish: "stop" })).toMatchObject({
      text: "report",
    });
  });

  it("keeps the last words of a child that ended without any", () => {
    expect(look(prompt, says("found it", { finish: "tool-calls" }), says(""))).toMatchObject({
      type: "finished",
      text: "",
      lastText: "found it",
    });
  });

  it("names an abort and other errors, in the host's words or the caller's", () => {
    const failed = (name: string) => says("so far", { error: { name, text: "why" } });
    expect(look(prompt, failed("MessageAbortedError"))).toMatchObject({
      type: "failed",
      error: { kind: "aborted", message: "why" },
      lastText: "so far",
    });
    expect(look(prompt, failed("APIError"))).toMatchObject({ error: { kind: "APIError" } });
    const finding = checkChild({
      messages: [prompt, failed("APIError")],
      promptMessageId: "p",
      status: "idle",
      readError: ({ text: message }) => ({ kind: "rate_limit", message }),
    });
    expect(finding).toMatchObject({ error: { kind: "rate_limit", message: "why" } });
  });

  it("says that a busy child works, and that an idle one was never told", () => {
    expect(checkChild({ messages: [prompt, says("x")], promptMessageId: "p", status: "retry" })).toEqual({
      type: "working",
    });
    expect(checkChild({ messages: [says("x")], promptMessageId: "p", status: "idle" })).toEqual({
      type: "unprompted",
    });
    expect(checkChild({ messages: [prompt, says("x")], status: "idle" })).toEqual({ type: "unprompted" });
  });
});
