import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { jsonOrText } from "../../text/json.ts";
import { asArray, asObject, type UnknownObject } from "../../text/unknown-value.ts";

/** Starts a scripted model, reachable from this machine only, that records the requests it gets. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const requests: ModelCall[] = [];
  const server = createServer((request, response) => {
    readBody(request).then(
      (text) => {
        const call = readCall(text);
        if (call.from !== "title") requests.push(call);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`${eventsOf(answerTo(call)).join("")}data: [DONE]\n\n`);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1`, requests, stop: () => stop(server) };
}

interface ScriptedModel {
  readonly url: string;
  /** Oldest first, without requests for a title. */
  readonly requests: readonly ModelCall[];
  stop(): Promise<void>;
}

/** The fields of a request that the self-test checks. */
export interface ModelCall {
  readonly from: "parent" | "child" | "title";
  readonly tools: readonly string[];
  readonly messages: readonly UnknownObject[];
}

/** Longer than a tool output may be; the model's first call prints it. */
export const LONG_OUTPUT_FILE = "long-output.txt";
const FORK_TASK = "Report to the self-test.";
export const FORK_REPORT = "The fork of the self-test reports.";

/** The text of a message, or its parts as JSON. */
export function contentOf({ content }: UnknownObject): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

function readCall(text: string): ModelCall {
  const body = asObject(jsonOrText(text));
  const messages = asArray(body.messages).map(asObject);
  const isChild = messages.some(
    (message) => message.role === "user" && contentOf(message).includes(FORK_TASK),
  );
  const tools = asArray(body.tools).map((tool) => String(asObject(asObject(tool).function).name));
  const isTitle = text.includes("You are a title generator");
  return { from: isTitle ? "title" : isChild ? "child" : "parent", tools, messages };
}

type Answer = { readonly text: string } | { readonly tool: string; readonly input: unknown };

/** The script: the parent prints a long output, forks and waits, then ends. */
function answerTo({ from, messages, tools }: ModelCall): Answer {
  if (from === "title") return { text: "Self-test" };
  if (from === "child") return { text: FORK_REPORT };
  const results = messages.filter(({ role }) => role === "tool").length;
  if (results === 0) {
    const tool = tools.includes("shell") ? "shell" : "bash";
    return { tool, input: { command: `cat ${LONG_OUTPUT_FILE}`, description: "Show the file" } };
  }
  if (results === 1) return { tool: "fork", input: { prompt: FORK_TASK, wait_s: 60 } };
  return { text: "Done." };
}

function eventsOf(answer: Answer): readonly string[] {
  const isText = "text" in answer;
  const delta = isText
    ? { content: answer.text }
    : {
        tool_calls: [
          {
            index: 0,
            id: `call_${answer.tool}`,
            type: "function",
            function: { name: answer.tool, arguments: JSON.stringify(answer.input) },
          },
        ],
      };
  const envelope = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model: "self-test" };
  const end = { index: 0, delta: {}, finish_reason: isText ? "stop" : "tool_calls" };
  const usage = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  return [
    { ...envelope, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
    { ...envelope, choices: [end] },
    { ...envelope, choices: [], usage },
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
