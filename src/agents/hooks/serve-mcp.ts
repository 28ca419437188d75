import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { ModelTool, RunningTool } from "../../plugin/host/agent-host.ts";
import { inputSchema } from "../../plugin/tools/define-tool.ts";
import { asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";

/**
 * Tools of ours as a server of the Model Context Protocol over stdin and stdout: what the agents of hooks ask of one, and an
 * error for everything else, such as the discovery of newer versions. Ends with its input.
 */
export async function serveMcp(server: McpServer, { input, output }: McpStreams): Promise<void> {
  const open = new Map<unknown, AbortController>();
  const send = (message: object): void =>
    void output.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  async function callTool(id: unknown, params: UnknownObject): Promise<void> {
    const tool = server.tools[asString(params.name) ?? ""];
    if (tool === undefined)
      return send({ id, error: { code: INVALID_PARAMS, message: "There is no such tool." } });
    const controller = new AbortController();
    open.set(id, controller);
    try {
      const running = await server.running(asObject(params._meta), controller.signal);
      const text = await tool.execute(params.arguments ?? {}, running);
      if (!controller.signal.aborted) send({ id, result: { content: [{ type: "text", text }] } });
    } catch (cause) {
      const text = `This did not work: ${String(cause).slice(0, 300)}`;
      send({ id, result: { content: [{ type: "text", text }], isError: true } });
    } finally {
      open.delete(id);
    }
  }

  /** What is answered at once; nothing for notifications, and for calls, which answer when they end. */
  function answerTo({ id, method, params }: UnknownObject): object | undefined {
    const given = asObject(params);
    switch (method) {
      case "initialize": {
        const protocolVersion = asString(given.protocolVersion) ?? PROTOCOL;
        const serverInfo = { name: server.name, version: server.version };
        return { result: { protocolVersion, capabilities: { tools: {} }, serverInfo } };
      }
      case "ping":
        return { result: {} };
      case "tools/list":
        return { result: { tools: Object.entries(server.tools).map((tool) => describe(tool, server)) } };
      case "tools/call":
        void callTool(id, given);
        return undefined;
      case "notifications/cancelled":
        open.get(given.requestId)?.abort();
        return undefined;
      default:
        return { error: { code: METHOD_NOT_FOUND, message: "Method not found" } };
    }
  }

  for await (const line of createInterface({ input })) {
    if (line.trim() === "") continue;
    try {
      const message = asObject(JSON.parse(line));
      const answer = answerTo(message);
      if (answer !== undefined && message.id !== undefined) send({ id: message.id, ...answer });
    } catch {
      send({ id: null, error: { code: PARSE_ERROR, message: "Parse error" } });
    }
  }
  for (const controller of open.values()) controller.abort();
}

export interface McpServer {
  readonly name: string;
  readonly version: string;
  readonly tools: Readonly<Record<string, ModelTool>>;
  /** The tools that change nothing: agents call them without asking. */
  readonly readOnly: readonly string[];
  /** Who calls, by what the agent says beside the arguments. */
  running(meta: UnknownObject, signal: AbortSignal): Promise<RunningTool>;
}

interface McpStreams {
  readonly input: Readable;
  readonly output: Writable;
}

const PROTOCOL = "2025-06-18";
const PARSE_ERROR = -32_700;
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

function describe(
  [name, { description, parameters }]: readonly [string, ModelTool],
  { readOnly }: McpServer,
): object {
  // What a tool of ours starts is held to what the session may do without asking.
  const readOnlyHint = readOnly.includes(name);
  const annotations = { readOnlyHint, destructiveHint: false, openWorldHint: false };
  return { name, description, inputSchema: inputSchema(parameters), annotations };
}
