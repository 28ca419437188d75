import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { codexWords } from "./tool-output.ts";

const { readOutput } = codexWords;

const folder = mkdtempSync(join(tmpdir(), "carryover-"));
const noted = join(folder, "rollout.jsonl");
const item = { type: "CommandExecution", id: "call_1", exit_code: 3, aggregated_output: "a" };
writeFileSync(noted, `${JSON.stringify({ type: "event_msg", payload: { type: "item_completed", item } })}\n`);

const payload = (tool_response: unknown, transcript_path = noted) => ({
  transcript_path,
  hook_event_name: "PostToolUse",
  tool_name: "Bash",
  tool_use_id: "call_1",
  tool_response,
});

describe("an output of Codex", () => {
  it("of a command is replaced by a text that says how it ended, and the turn goes on", async () => {
    const output = readOutput(payload("a\nb"));
    expect(output).toMatchObject({ text: "a\nb", tool: "Bash", callId: "call_1" });
    expect(await output?.whole()).toEqual({ text: "a\nb" });
    expect(JSON.parse(output?.replace("short") ?? "")).toMatchObject({
      continue: false,
      reason: "Process exited with code 3\nOutput:\nshort",
    });
  });

  it("of a command of which nobody knows how it ended stays", async () => {
    const empty = join(folder, "empty.jsonl");
    writeFileSync(empty, "{}\n");
    const output = readOutput(payload("a\nb", empty));
    await output?.whole();
    expect(output?.replace("short")).toBeUndefined();
  });

  it("over MCP is the text of its blocks; of a long one the model would be shown less", async () => {
    const text = "x".repeat(100_000);
    const output = readOutput(payload({ content: [{ type: "text", text }] }));
    expect(output?.text.length).toBe(40_000);
    expect(output?.noticeChars).toBe(0);
    expect(await output?.whole()).toEqual({ text });
  });

  it.each([
    ["an image", { content: [{ type: "image", data: "" }] }],
    ["no content", {}],
    ["nothing", undefined],
  ])("stays as it is: %s", (_, response) => {
    expect(readOutput(payload(response))).toBeUndefined();
  });
});
