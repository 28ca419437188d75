import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deepFreeze, notate } from "../../../../test/rig/notation.ts";
import type { Edit } from "../../../transcript/edit.ts";
import { type GeminiCliWire, geminiCli } from "./gemini-cli.ts";

function recorded(name: string): GeminiCliWire {
  const text = readFileSync(
    new URL(`../../../../test/recordings/gemini-cli/${name}`, import.meta.url),
    "utf8",
  );
  const isLines = name.endsWith("l");
  return deepFreeze(
    isLines
      ? text
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line))
      : JSON.parse(text),
  );
}

const hide = (messageId: string): Edit => ({
  type: "hide-message",
  messageId,
  stage: "test",
  reason: "test",
});

describe("reading", () => {
  it.each([
    { name: "session.json", notation: "u:17 a:12(list_directory:14,read_file!12) a:13 u:9 a(write_file:16)" },
    { name: "session.jsonl", notation: "u:17 a:12(list_directory:14,read_file!12) u:9 a(write_file:16)" },
    { name: "checkpoint.jsonl", notation: "u:9 a(write_file:16) u:5" },
  ])("$name", ({ name, notation }) => {
    expect(notate(geminiCli.decode(recorded(name)))).toBe(notation);
  });

  it("counts what came from the cache apart", () => {
    expect(geminiCli.decode(recorded("session.json"))[1]?.usage).toMatchObject({
      inputTokens: 3000,
      cacheReadTokens: 6000,
      outputTokens: 40,
      reasoningTokens: 20,
    });
  });
});

describe("writing", () => {
  it("takes both records of a message that was written twice", () => {
    const wire = recorded("session.jsonl") as readonly unknown[];
    const edited = geminiCli.apply(wire, [hide("rec-2")], { at: 1 });
    expect(edited).toHaveLength(wire.length - 2);
    expect(notate(geminiCli.decode(edited))).toBe("u:17 u:9 a(write_file:16)");
  });

  it("keeps no older record of a message that was edited", () => {
    const edit: Edit = {
      type: "hide-part",
      what: "part",
      messageId: "rec-2",
      partIndex: 1,
      stage: "test",
      reason: "secret",
    };
    const edited = geminiCli.apply(recorded("session.jsonl"), [edit], { at: 1 });
    expect(JSON.stringify(edited)).not.toContain("I will look.");
    expect(JSON.stringify(edited)).toContain("red.md");
  });

  it("edits the messages inside a checkpoint", () => {
    const edited = geminiCli.apply(recorded("checkpoint.jsonl"), [hide("rec-5")], { at: 1 });
    expect(notate(geminiCli.decode(edited))).toBe("a(write_file:16) u:5");
  });
});
