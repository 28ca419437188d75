import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { notate } from "../../test/rig/notation.ts";
import { historyOf, userSays } from "../../test/rig/random-history/history.ts";
import { lowerToClaudeCode, lowerToPi } from "../../test/rig/random-history/lower-to-files.ts";
import { readTranscript, transcriptText } from "./read-transcript.ts";

const recorded = (name: string) => readFileSync(new URL(`../../test/recordings/${name}`, import.meta.url));

async function* chunked(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 100) yield bytes.subarray(start, start + 100);
}

describe("readTranscript", () => {
  it.each([
    "claude-code/session.jsonl",
    "claude-code/rewind.jsonl",
    "pi/session.jsonl",
    "codex/rollout.jsonl",
    "gemini-cli/session.json",
    "gemini-cli/session.jsonl",
    "swe-agent/text.traj.json",
    "opencode/plain-tools.json",
  ])("reads %s alike in one piece, in chunks, and keeping only what is live", async (name) => {
    const bytes = recorded(name);
    const whole = await readTranscript(bytes);
    expect(await readTranscript(chunked(bytes))).toEqual(whole);
    expect((await readTranscript(chunked(bytes), { keep: "live" })).transcript).toEqual(whole.transcript);
  });

  it.each(["claude-code/session.jsonl", "codex/rollout.jsonl", "gemini-cli/session.json"])(
    "writes %s back as the same JSON",
    async (name) => {
      const file = await readTranscript(recorded(name));
      const again = await readTranscript(new TextEncoder().encode(transcriptText(file)));
      expect(again.wire).toEqual(file.wire);
      expect(again.form).toBe(file.form);
    },
  );

  it("drops lines that are not live", async () => {
    const file = await readTranscript(recorded("claude-code/rewind.jsonl"), { keep: "live" });
    expect(file.wire).toHaveLength(4);
  });

  it("names lines that it could not read, and reads the rest", async () => {
    const lines = recorded("claude-code/rewind.jsonl").toString("utf8").split("\n");
    const torn = [lines[0], '{"type":"user","mess', ...lines.slice(1, -1)].join("\n").slice(0, -20);
    const file = await readTranscript(new TextEncoder().encode(torn));
    expect(file.problems).toMatchObject([
      { lineNumber: 2, problem: "not-json" },
      { lineNumber: 9, problem: "torn" },
    ]);
    expect(notate(file.transcript)).toBe("u:17 a:14 u:21");
  });

  it.each([
    { name: "nothing", text: "" },
    { name: "blank lines", text: "\n\n" },
    { name: "prose", text: "hello\nworld\n" },
    { name: "half a document", text: '{\n "info": {' },
    { name: "other JSON", text: '{"a": 1}' },
  ])("says that it does not know $name", async ({ text }) => {
    const file = await readTranscript(new TextEncoder().encode(text));
    expect(file).toMatchObject({ format: "unknown", transcript: [], wire: undefined });
  });

  it.each(["{", "["])("reads lines behind a line that is only %s", async (bracket) => {
    const lines = recorded("claude-code/rewind.jsonl").toString("utf8");
    const file = await readTranscript(chunked(new TextEncoder().encode(`${bracket}\n${lines}`)));
    const whole = await readTranscript(recorded("claude-code/rewind.jsonl"));
    expect(file).toMatchObject({ format: "claude-code", form: "lines", transcript: whole.transcript });
    expect(file.problems).toMatchObject([{ lineNumber: 1, problem: "not-json" }]);
  });

  it("reads a document that is one line", async () => {
    const file = await readTranscript(
      new TextEncoder().encode('{"history":[{"role":"user","content":"hi"}],"info":{}}'),
    );
    expect(file).toMatchObject({ format: "swe-agent", form: "document", problems: [] });
  });

  it("keeps memory to the live branch: what was left is not in the wire", async () => {
    const history = historyOf([
      userSays("one"),
      { type: "aside" },
      userSays("two"),
      { type: "rewind", steps: 1 },
      userSays("three"),
    ]);
    for (const lines of [lowerToClaudeCode(history), lowerToPi(history)]) {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      const { wire } = await readTranscript(new TextEncoder().encode(text), { keep: "live" });
      expect(JSON.stringify(wire)).toContain("three");
      expect(JSON.stringify(wire)).not.toContain("two");
    }
  });
});
