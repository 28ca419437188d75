import { describe, expect, it } from "vitest";
import { checkTranscript, refuseForeign, refuseList } from "./check-transcript.ts";
import type { Message, Transcript } from "./message.ts";

const good: Message = { id: "m1", role: "user", parts: [] };

describe("a list that is no transcript", () => {
  it.each<{ readonly message: unknown; readonly formats: string }>([
    { message: { info: {}, parts: [] }, formats: "opencode.decode([…])" },
    { message: { messages: [] }, formats: "anthropic.decode(request) or openaiChat.decode(request)" },
    { message: { contents: [] }, formats: "gemini.decode(request)" },
    { message: { input: [] }, formats: "openaiResponses.decode(request)" },
    { message: { type: "user", message: {} }, formats: "claudeCode.decode(lines) or pi.decode(lines)" },
    { message: { role: "model" }, formats: "gemini.decode([…])" },
    { message: { role: "user", parts: [] }, formats: "gemini.decode([…])" },
    { message: { role: "assistant", tool_calls: [] }, formats: "openaiChat.decode([…])" },
    { message: { role: "developer", content: "" }, formats: "openaiChat.decode([…])" },
    { message: { role: "tool", tool_call_id: "c" }, formats: "openaiChat.decode([…])" },
    { message: { role: "user", content: [{ type: "tool_result" }] }, formats: "anthropic.decode([…])" },
    { message: { role: "tool", content: [{ type: "tool-result" }] }, formats: "aiSdk.decode([…])" },
    { message: { role: "user", content: [{ type: "input_text" }] }, formats: "openaiResponses.decode([…])" },
    {
      message: { role: "assistant", content: [{ type: "output_text" }] },
      formats: "openaiResponses.decode([…])",
    },
    {
      message: { role: "user", content: "Hello." },
      formats: "aiSdk.decode([…]), anthropic.decode([…]) or openaiChat.decode([…])",
    },
    ...["message", "function_call", "function_call_output", "reasoning", "item_reference"].map((type) => ({
      message: { type },
      formats: "openaiResponses.decode([…])",
    })),
  ])("is refused with the format that reads $message", ({ message, formats }) => {
    const keys = Object.keys(message as object).join(", ");
    const said = `given.1 is an object with ${keys}; read it first with ${formats} of carryover/formats, which gives a transcript`;
    expect(() => checkTranscript([good, message] as Transcript, "given")).toThrow(said);
    expect(() => refuseForeign(message, "it")).toThrow(said.replace("given.1", "it"));
  });

  it.each<{ readonly message: unknown; readonly is: string }>([
    { message: {}, is: "an empty object" },
    { message: 7, is: "7" },
    { message: null, is: "null" },
    { message: { type: "function_calls" }, is: "an object with type" },
    { message: { role: "user" }, is: "an object with role" },
    { message: { id: "m", role: "user" }, is: "an object with id, role" },
    { message: { id: 1, role: "user", parts: [] }, is: "an object with id, role, parts" },
    { message: { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 }, is: "an object with a, b, c, d, e, f" },
  ])("is refused as $is, with what a transcript is", ({ message, is }) => {
    const advice =
      "give a transcript, whose messages have id, role and parts: a format of carryover/formats reads one";
    expect(() => checkTranscript([message] as Transcript)).toThrow(`messages.0 is ${is}; ${advice}`);
    expect(() => refuseForeign(message, "it")).not.toThrow();
  });

  it("may be the session itself", () => {
    const session = { messages: () => [] } as unknown as Transcript;
    expect(() => checkTranscript(session)).toThrow("give what its messages() gives");
  });

  it("has three problems at most", () => {
    const odd = Array.from({ length: 9 }, () => 1) as unknown as Transcript;
    expect(() => checkTranscript(odd)).toThrow(/messages\.0.*messages\.1.*messages\.2(?!.*messages\.3)/s);
    expect(() => checkTranscript([good])).not.toThrow();
  });

  it("is no message either", () => {
    expect(() => refuseList([good, good])).toThrow("message is a list of 2; give the whole conversation");
    expect(() => refuseList(good)).not.toThrow();
    expect(() => refuseForeign([{ role: "user", content: "" }], "it")).not.toThrow();
  });
});
