import { describe, expect, it } from "vitest";
import type { ModelRequest } from "../model-server/model-server.ts";
import { sharedPrefix, toolNamesOf } from "./shared-prefix.ts";

describe("the shared prefix", () => {
  it("is whole when messages were only added", () => {
    const earlier = request({ messages: [user("a")] });
    expect(sharedPrefix(earlier, request({ messages: [user("a"), user("b")] })).share).toBe(1);
  });

  it("ignores where a cache mark stands", () => {
    const marked = { ...user("a"), cache_control: { type: "ephemeral" } };
    const later = request({ messages: [user("a"), user("b")] });
    expect(sharedPrefix(request({ messages: [marked] }), later).share).toBe(1);
  });

  it("ends at the tools when one is missing, since they come first", () => {
    const earlier = request({ tools: [{ name: "bash" }, { name: "read" }], messages: [user("a")] });
    const later = request({ tools: [{ name: "bash" }], messages: [user("a")] });
    expect(sharedPrefix(earlier, later).sharedChars).toBeLessThan('[{"name":"bash"},'.length);
  });

  it("counts to the first character that differs", () => {
    const shared = sharedPrefix(request({ messages: [user("ab")] }), request({ messages: [user("ac")] }));
    expect(shared.earlierChars - shared.sharedChars).toBe('b"}'.length);
  });
});

it("tools are named alike on both wires", () => {
  const chat = request({ tools: [{ type: "function", function: { name: "bash" } }] });
  expect(toolNamesOf(chat)).toEqual(toolNamesOf(request({ tools: [{ name: "bash" }] })));
});

function user(content: string): Record<string, unknown> {
  return { role: "user", content };
}

function request(body: Readonly<Record<string, unknown>>): ModelRequest {
  return {
    wire: "openai-chat",
    lane: "main",
    atMs: 0,
    model: "any",
    headers: {},
    body,
    reply: { type: "answer" },
  };
}
