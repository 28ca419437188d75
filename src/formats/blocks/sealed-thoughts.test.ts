import { describe, expect, it } from "vitest";
import { formatOf } from "../read-transcript.ts";
import type { FormatName } from "../registry.ts";

const SIGNATURE = "c2lnbmVk".repeat(50);
const REDACTED = "cmVkYWN0ZWQ".repeat(40);
const user = { role: "user", content: "go" };
const text = { type: "text", text: "so" };

/** A thought of which one word can be read, as each format keeps it with its signature. */
const WIRES: readonly (readonly [FormatName, unknown])[] = [
  [
    "anthropic",
    [
      user,
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: "hm", signature: SIGNATURE }, text],
      },
    ],
  ],
  [
    "claude-code",
    [
      { type: "user", uuid: "u", parentUuid: null, message: user },
      {
        type: "assistant",
        uuid: "a",
        parentUuid: "u",
        message: {
          id: "msg_1",
          role: "assistant",
          content: [{ type: "thinking", thinking: "hm", signature: SIGNATURE }, text],
        },
      },
    ],
  ],
  [
    "ai-sdk",
    [
      user,
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: { anthropic: { signature: SIGNATURE } } },
          text,
        ],
      },
    ],
  ],
  [
    "opencode",
    {
      info: { id: "ses_1" },
      messages: [
        {
          info: { id: "a", role: "assistant" },
          parts: [
            { type: "reasoning", text: "hm", metadata: { anthropic: { signature: SIGNATURE } } },
            { ...text },
          ],
        },
      ],
    },
  ],
  [
    "pi",
    [
      { type: "session", id: "s", version: 3 },
      {
        type: "message",
        id: "a",
        parentId: null,
        message: {
          role: "assistant",
          content: [{ type: "thinking", thinking: "hm", thinkingSignature: SIGNATURE }, text],
        },
      },
    ],
  ],
];

describe.each(WIRES)("a signed thought in %s", (name, wire) => {
  it("is as long as its signature tells, whatever can be read of it", () => {
    const parts = formatOf(name)
      ?.decode(wire)
      .flatMap((message) => message.parts);
    expect(parts).toContainEqual({ type: "reasoning", text: "hm", sealedChars: SIGNATURE.length });
  });
});

it("knows how long a thought is of which nothing can be read", () => {
  const anthropic = formatOf("anthropic");
  const content = [{ type: "redacted_thinking", data: REDACTED }, text];
  const sdk = {
    type: "reasoning",
    text: "",
    providerOptions: { bedrock: { redactedData: REDACTED } },
  };
  const thought = { type: "reasoning", text: "", sealedChars: REDACTED.length };
  expect(anthropic?.decode([user, { role: "assistant", content }])[1]?.parts[0]).toEqual(thought);
  const message = formatOf("ai-sdk")?.decode([user, { role: "assistant", content: [sdk, text] }])[1];
  expect(message?.parts[0]).toEqual(thought);
});

it("says nothing of a thought that is not sealed", () => {
  for (const signature of ["", undefined, 7]) {
    const content = [{ type: "thinking", thinking: "hm", signature }, text];
    const message = formatOf("anthropic")?.decode([user, { role: "assistant", content }])[1];
    expect(message?.parts[0]).toEqual({ type: "reasoning", text: "hm" });
  }
});
