import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { ModelTool, RunningTool } from "../../plugin/host/agent-host.ts";
import { serveMcp } from "./serve-mcp.ts";

const echo: ModelTool = {
  description: "Says it again.",
  parameters: { what: { type: "text", isRequired: true }, times: { type: "whole-number", least: 1 } },
  execute: async (args, { sessionId }) => `${sessionId}: ${JSON.stringify(args)}`,
};

async function answersTo(...messages: readonly unknown[]): Promise<readonly unknown[]> {
  const input = new PassThrough();
  const output = new PassThrough();
  const served = serveMcp(
    {
      name: "carryover",
      version: "1.2.3",
      tools: { echo },
      readOnly: ["echo"],
      running: async (meta) => ({ sessionId: String(meta.session) }) as RunningTool,
    },
    { input, output },
  ).then(() => output.end());
  for (const message of messages)
    input.write(
      `${typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...(message as object) })}\n`,
    );
  await new Promise((resolve) => setTimeout(resolve, 20));
  input.end();
  await served;
  return (await text(output))
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

describe("the server of tools", () => {
  it("refuses what newer clients ask first, and goes on", async () => {
    const answers = await answersTo(
      { id: 1, method: "server/discover" },
      { id: 2, method: "initialize", params: { protocolVersion: "2025-03-26" } },
      { method: "notifications/initialized" },
      { id: 3, method: "ping" },
    );
    expect(answers).toMatchObject([
      { id: 1, error: { code: -32_601 } },
      {
        id: 2,
        result: { protocolVersion: "2025-03-26", serverInfo: { name: "carryover", version: "1.2.3" } },
      },
      { id: 3, result: {} },
    ]);
    expect(answers).toHaveLength(3);
  });

  it("lists its tools with a schema, and calls them for the session that asks", async () => {
    const [listed, called] = await answersTo(
      { id: 1, method: "tools/list" },
      {
        id: 2,
        method: "tools/call",
        params: { name: "echo", arguments: { what: "hi" }, _meta: { session: "s1" } },
      },
    );
    const properties = { what: { type: "string" }, times: { type: "integer", minimum: 1 } };
    const inputSchema = { type: "object", properties, required: ["what"] };
    expect(listed).toMatchObject({ result: { tools: [{ name: "echo", inputSchema }] } });
    expect(called).toMatchObject({
      id: 2,
      result: { content: [{ type: "text", text: 's1: {"what":"hi"}' }] },
    });
  });

  it("lives through what is no message and no tool", async () => {
    const answers = await answersTo("{", { id: 1, method: "tools/call", params: { name: "none" } });
    expect(answers).toMatchObject([
      { id: null, error: { code: -32_700 } },
      { id: 1, error: { code: -32_602 } },
    ]);
  });
});
