import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claudeCodeWords } from "./tool-output.ts";

const { readOutput } = claudeCodeWords;

const SHELL = { stdout: "a\nb", stderr: "", interrupted: false, isImage: false, noOutputExpected: false };

const payload = (tool_name: string, tool_response: unknown) => ({
  hook_event_name: "PostToolUse",
  tool_name,
  tool_use_id: "toolu_1",
  tool_response,
});

const replaced = (answer: string | undefined): unknown =>
  JSON.parse(answer ?? "{}").hookSpecificOutput?.updatedToolOutput;

describe("an output of Claude Code", () => {
  it("of a command keeps every field of its shape", () => {
    const output = readOutput(payload("Bash", SHELL));
    expect(output).toMatchObject({ text: "a\nb", tool: "Bash", callId: "toolu_1" });
    expect(replaced(output?.replace("short"))).toEqual({ ...SHELL, stdout: "short" });
  });

  it("that lies in a file is read whole from there, and replaced without the names of the file", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "carryover-")), "b1.txt");
    writeFileSync(path, "x".repeat(40_000));
    const response = {
      ...SHELL,
      stdout: "x".repeat(30_000),
      persistedOutputPath: path,
      persistedOutputSize: 40_000,
    };
    const output = readOutput(payload("Bash", response));
    // What the model would be shown alone.
    expect(output?.text).toContain(`Output too large (39.1KB). Full output saved to: ${path}`);
    expect(output?.text.length).toBeLessThan(2_200 + path.length);
    expect(output?.noticeChars).toBe(0);
    expect(await output?.whole()).toEqual({ text: "x".repeat(40_000), path });
    expect(replaced(output?.replace("short"))).toEqual({ ...SHELL, stdout: "short" });
  });

  it("of a tool over MCP stays a list of blocks; what is no text stays in its place", () => {
    const image = { type: "image", source: {} };
    const blocks = [image, { type: "text", text: "one" }, { type: "text", text: "two" }];
    const output = readOutput(payload("mcp__x__y", blocks));
    expect(output?.text).toBe("one\ntwo");
    expect(replaced(output?.replace("short"))).toEqual([image, { type: "text", text: "short" }]);
  });

  it("of a sub-agent keeps what stands beside its content", () => {
    const response = { status: "completed", agentId: "a1", content: [{ type: "text", text: "long" }] };
    const output = readOutput(payload("Agent", response));
    expect(replaced(output?.replace("short"))).toEqual({
      ...response,
      content: [{ type: "text", text: "short" }],
    });
  });

  it.each([
    [
      "a file that was read: its lines are numbered by the agent",
      "Read",
      { type: "text", file: { content: "x" } },
    ],
    ["an error in words", "mcp__x__y", "Error: result exceeds maximum allowed tokens"],
    [
      "a longer one over MCP than the agent shows whole",
      "mcp__x__y",
      [{ type: "text", text: "x".repeat(50_001) }],
    ],
    ["an image", "Bash", { ...SHELL, isImage: true }],
    ["a sub-agent in the background", "Agent", { isAsync: true, status: "async_launched" }],
    ["a shape that is not known", "WebFetch", { result: "x".repeat(99_999) }],
    ["nothing at all", "Bash", undefined],
  ])("stays as it is: %s", (_, tool, response) => {
    expect(readOutput(payload(tool, response))).toBeUndefined();
  });
});
