import { describe, expect, it } from "vitest";
import { formatMessagesAsContext } from "../src/fork/context/format.ts";
import { processMessagesForFork } from "../src/fork/fork.ts";
import type { OpenCodeWire, SessionMessage } from "../src/formats/wires/opencode/decode-messages.ts";
import { opencode } from "../src/formats/wires/opencode/opencode.ts";
import { repairPairing } from "../src/stages/repair.ts";
import { wireMessage, wireText, wireTool } from "./rig/opencode-wire.ts";

function fork(wire: OpenCodeWire) {
  const { messages, stats } = processMessagesForFork(opencode.decode(wire));
  return formatMessagesAsContext(messages, stats);
}

const wild = (value: unknown) => value as OpenCodeWire;

describe("bad input", () => {
  it.each([
    ["null", null],
    ["a string", "hello"],
    ["a number", 7],
    ["an object without messages", {}],
    ["messages that are none", [null, 1, "x", [], {}]],
    ["messages without parts", [{ info: { role: "user" } }, { info: {}, parts: null }]],
    [
      "parts that are none",
      [
        {
          info: { role: "user" },
          parts: [null, 1, "x", {}, { type: 5 }, { type: "tool" }, { type: "text" }, { type: "tool_result" }],
        },
      ],
    ],
    [
      "states that are none",
      [
        {
          info: { role: "assistant" },
          parts: [
            { type: "tool", state: null },
            { type: "tool", state: { status: "completed", output: { not: "text" }, attachments: "no" } },
          ],
        },
      ],
    ],
  ])("%s gives no exception", (_, wire) => {
    expect(() => fork(wild(wire))).not.toThrow();
    expect(() => opencode.faults(wild(wire))).not.toThrow();
    expect(() =>
      opencode.apply(wild(wire), repairPairing(opencode.decode(wild(wire))), { at: 1 }),
    ).not.toThrow();
  });

  it("an unknown role is shown under its own name, an unknown part passes through", () => {
    const odd = wireMessage("oracle", [wireText("I know"), { type: "hologram", data: 1 }]);
    expect(fork([odd]).text).toContain("\nOracle:\nI know\n");
    const other = wireMessage("user", [wireText(" ")]);
    const [kept] = opencode
      .apply([odd, other], repairPairing(opencode.decode([odd, other])), { at: 1 })
      .slice(-1);
    expect(kept).toBe(odd);
  });

  it("repeated ids lose nothing", () => {
    const twins = ["first", "second", "third"].map((text) =>
      wireMessage("user", [wireText(text)], { id: "same" }),
    );
    const { text } = fork(twins);
    for (const word of ["first", "second", "third"]) expect(text).toContain(word);
    const long = twins.map((message) => ({ ...message, parts: [wireText("x".repeat(90_000))] }));
    expect(fork(long).stats).toMatchObject({ removedMessages: 1, finalCount: 2 });
  });

  it("lone surrogates and control characters leave as something a provider takes", () => {
    const { text } = fork([
      wireMessage("user", [wireText("a\ud83d\0b")]),
      wireMessage("assistant", [wireTool("bash", "\x1b[31mred\x1b[0m \udc00")]),
    ]);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain("\nred \ufffd\n");
    expect(text).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f]/);
  });

  it("100 MB in one line fit the budget", () => {
    const line = "a".repeat(100 * 2 ** 20);
    const { text } = fork([
      wireMessage("user", [wireText(line)]),
      wireMessage("assistant", [wireTool("bash", line)]),
    ]);
    expect(text.length).toBeLessThanOrEqual(200_000);
    expect(text.length).toBeGreaterThan(150_000);
  });

  it("100,000 messages are no more than many", () => {
    const messages: SessionMessage[] = Array.from({ length: 100_000 }, (_, n) =>
      wireMessage(n % 2 ? "assistant" : "user", [wireText(`message ${n}`)]),
    );
    const { text, stats } = fork(messages);
    expect(text.length).toBeLessThanOrEqual(200_000);
    expect(stats.originalCount).toBe(100_000);
    expect(stats.finalCount + stats.removedMessages).toBe(100_000);
    expect(text).toContain("message 99999");
  });
});
