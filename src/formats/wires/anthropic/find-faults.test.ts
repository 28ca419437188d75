import { describe, expect, it } from "vitest";
import { findAnthropicEditFaults } from "../../../../test/rig/edit-faults.ts";
import { findAnthropicFaults } from "./find-faults.ts";

const user = (...content: readonly unknown[]) => ({ role: "user", content });
const assistant = (...content: readonly unknown[]) => ({ role: "assistant", content });
const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
const use = (id: string) => ({ type: "tool_use", id, name: "bash", input: { command: "ls" } });
const result = (id: string, content: unknown = "ok") => ({ type: "tool_result", tool_use_id: id, content });
const thinking = (signature: string, words = "hm") => ({ type: "thinking", thinking: words, signature });
const mark = { cache_control: { type: "ephemeral" } };
const image = (data: string) => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});

/** The first bytes of a PNG of that width. */
function png(widthPixels: number): string {
  const number = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const bytes = [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82];
  return btoa(String.fromCharCode(...bytes, ...number(widthPixels), ...number(10)));
}

const gif = (widthPixels: number) =>
  btoa(String.fromCharCode(0x47, 0x49, 0x46, 0x38, 0x39, 0x61, widthPixels & 255, widthPixels >> 8, 1, 0));

const jpeg = (widthPixels: number) => {
  const word = (value: number) => [value >> 8, value & 255];
  const comment = [0xff, 0xfe, 0, 4, 1, 2];
  return btoa(
    String.fromCharCode(0xff, 0xd8, ...comment, 0xff, 0xc0, 0, 17, 8, ...word(10), ...word(widthPixels)),
  );
};

const loop = (...turn: readonly unknown[]) => [user(text("go")), assistant(...turn), user(result("a"))];

describe("rules of Anthropic", () => {
  it.each<{ rule: string; name: string; good: unknown; bad: unknown }>([
    {
      rule: "anthropic-19",
      name: "results come before text",
      good: [user(text("go")), assistant(use("a")), user(result("a"), text("and now?"))],
      bad: [user(text("go")), assistant(use("a")), user(text("and now?"), result("a"))],
    },
    {
      rule: "anthropic-19",
      name: "a turn's results are in one message",
      good: [user(text("go")), assistant(use("a"), use("b")), user(result("b"), result("a"))],
      bad: [user(text("go")), assistant(use("a"), use("b")), user(result("a")), user(result("b"))],
    },
    {
      rule: "anthropic-20",
      name: "ids of other providers do not fit",
      good: [user(text("go")), assistant(use("call_A-1")), user(result("call_A-1"))],
      bad: [user(text("go")), assistant(use("functions.bash:0")), user(result("functions.bash:0"))],
    },
    {
      rule: "anthropic-20",
      name: "ids have at most 64 characters",
      good: [user(text("go")), assistant(use("a".repeat(64))), user(result("a".repeat(64)))],
      bad: [user(text("go")), assistant(use("a".repeat(65))), user(result("a".repeat(65)))],
    },
    {
      rule: "anthropic-22",
      name: "an open tool loop keeps its thinking",
      good: { thinking: { type: "enabled" }, messages: loop(thinking("s"), use("a")) },
      bad: { thinking: { type: "enabled" }, messages: loop(text("on it"), use("a")) },
    },
    {
      rule: "anthropic-22",
      name: "thinking is first even in a bare list",
      good: loop({ type: "redacted_thinking", data: "s" }, text("on it"), use("a")),
      bad: loop(text("on it"), thinking("s"), use("a")),
    },
    {
      rule: "anthropic-22",
      name: "a model that binds its thinking takes a loop without any",
      good: { model: "claude-opus-5-5", thinking: { type: "adaptive" }, messages: loop(use("a")) },
      bad: { model: "claude-opus-5", thinking: { type: "adaptive" }, messages: loop(use("a")) },
    },
    {
      rule: "anthropic-23",
      name: "no mark on thinking",
      good: loop(thinking("s"), { ...use("a"), ...mark }),
      bad: loop({ ...thinking("s"), ...mark }, use("a")),
    },
    {
      rule: "anthropic-23",
      name: "no mark on a blank text",
      good: [user(text("go", mark))],
      bad: [user(text("go"), text("", mark))],
    },
    {
      rule: "anthropic-23",
      name: "four marks in all, tools, system and inside results included",
      good: {
        system: [text("s", mark)],
        tools: [{ name: "bash", ...mark }],
        messages: [user(text("go", mark)), assistant(use("a")), user(result("a", [text("ok", mark)]))],
      },
      bad: {
        system: [text("s", mark)],
        tools: [{ name: "bash", ...mark }],
        messages: [
          user(text("go", mark)),
          assistant(text("on it", mark), use("a")),
          user(result("a", [text("ok", mark)])),
        ],
      },
    },
    {
      rule: "anthropic-25",
      name: "an image has at most 5 MB",
      good: [user(image("A".repeat(5 * 2 ** 20)))],
      bad: [user(image("A".repeat(5 * 2 ** 20 + 1)))],
    },
    {
      rule: "anthropic-25",
      name: "an image has at most 8,000 pixels",
      good: [user(image(png(8_000)), image(gif(8_000)), image(jpeg(8_000)))],
      bad: [user(image(png(8_001)))],
    },
    {
      rule: "anthropic-25",
      name: "a GIF has a size",
      good: [user(image(gif(900)))],
      bad: [user(image(gif(8_001)))],
    },
    {
      rule: "anthropic-25",
      name: "a JPEG has a size",
      good: [user(image(jpeg(900)))],
      bad: [user(image(jpeg(8_001)))],
    },
    {
      rule: "anthropic-25",
      name: "2,000 pixels when images are many, those in results included",
      good: [user(text("go")), assistant(use("a")), user(result("a", Array(20).fill(image(png(2_001)))))],
      bad: [user(text("go")), assistant(use("a")), user(result("a", Array(21).fill(image(png(2_001)))))],
    },
    {
      rule: "anthropic-25",
      name: "a request has at most 32 MB",
      good: [user(text("é".repeat(15 * 2 ** 20)))],
      bad: [user(text("é".repeat(17 * 2 ** 20)))],
    },
    {
      rule: "anthropic-26",
      name: "no answer is begun for the model",
      good: [user(text("go")), assistant(text("done")), user(text("thanks"))],
      bad: [user(text("go")), assistant(text("The answer is"))],
    },
    {
      rule: "anthropic-27",
      name: "roles alternate",
      good: [user(text("go"), text("now"))],
      bad: [user(text("go")), user(text("now"))],
    },
    {
      rule: "common-10",
      name: "no message says nothing, but a system message may hold settings alone",
      good: [user(text("go")), { role: "system", content: [], output_config: { effort: "low" } }],
      bad: [user(text("go")), { role: "system", content: [] }],
    },
    {
      rule: "common-10",
      name: "no blank text in a result",
      good: [user(text("go")), assistant(use("a")), user(result("a", ""))],
      bad: [user(text("go")), assistant(use("a")), user(result("a", [text(" ")]))],
    },
  ])("$rule: $name", ({ rule, good, bad }) => {
    expect(findAnthropicFaults(good)).toEqual([]);
    expect(findAnthropicFaults(bad).map((fault) => fault.rule)).toContain(rule);
  });

  it("anthropic-24: thinking of another model is found when told whose signatures are its own", () => {
    const wire = loop(thinking("north.1"), use("a"));
    const rules = (model: string) =>
      findAnthropicFaults(wire, { isOwnSignature: (seal) => seal.startsWith(model) }).map(
        (fault) => fault.rule,
      );
    expect(rules("north")).toEqual([]);
    expect(rules("south")).toEqual(["anthropic-24"]);
  });

  it("a fault says where it is and what to do", () => {
    expect(
      findAnthropicFaults([user(text("go")), assistant(use("a")), user(text("x"), result("a"))])[1],
    ).toEqual({
      rule: "anthropic-19",
      messageId: "messages[2]",
      partIndex: 1,
      text: "a result behind other content: put results first",
    });
  });
});

describe("anthropic-21: an edit leaves thinking as it came", () => {
  const before = loop(thinking("s1"), thinking("s2"), use("a"));
  it.each([
    { name: "kept", after: before, rules: [] },
    { name: "left out whole", after: loop(thinking("s2"), use("a")), rules: [] },
    { name: "cut", after: loop(thinking("s1", "h"), thinking("s2"), use("a")), rules: ["anthropic-21"] },
    {
      name: "signature changed",
      after: loop(thinking("s1"), thinking("[REDACTED]"), use("a")),
      rules: ["anthropic-21"],
    },
    { name: "turned round", after: loop(thinking("s2"), thinking("s1"), use("a")), rules: ["anthropic-21"] },
  ])("$name", ({ after, rules }) => {
    expect(findAnthropicEditFaults(before, after).map((fault) => fault.rule)).toEqual(rules);
  });
});
