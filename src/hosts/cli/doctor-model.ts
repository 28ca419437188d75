import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Fields, fields } from "../../formats/fields.ts";

/** A model of our own on this machine: it plays the self-test and remembers what it was sent. Reachable from nowhere else. */
export async function startDoctorModel(): Promise<DoctorModel> {
  const requests: ModelCall[] = [];
  const server = createServer((request, response) => {
    readBody(request).then(
      (text) => {
        const call = readCall(request, text);
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

export interface DoctorModel {
  readonly url: string;
  /** Oldest first, without those for a title. */
  readonly requests: readonly ModelCall[];
  stop(): Promise<void>;
}

/** One request, as far as the self-test looks at it. */
export interface ModelCall {
  readonly from: "parent" | "child" | "title";
  readonly tools: readonly string[];
  readonly messages: readonly Fields[];
}

/** Printed by the command that the model runs first: more than an output may have. */
export const LONG_OUTPUT_FILE = "long-output.txt";
export const FORK_REPORT = "The fork of the self-test reports.";

function readCall(request: IncomingMessage, text: string): ModelCall {
  const body = readJson(text);
  const isChild = request.headers["x-parent-session-id"] !== undefined;
  const isTitle = text.includes("You are a title generator");
  return {
    from: isTitle ? "title" : isChild ? "child" : "parent",
    tools: list(body.tools).map((tool) => String(fields(fields(tool).function).name)),
    messages: list(body.messages).map(fields),
  };
}

type Answer = { readonly text: string } | { readonly tool: string; readonly input: unknown };

/** The parent shows a long output, then forks and waits, then ends. */
function answerTo({ from, messages }: ModelCall): Answer {
  if (from === "title") return { text: "Self-test" };
  if (from === "child") return { text: FORK_REPORT };
  const results = messages.filter(({ role }) => role === "tool").length;
  if (results === 0)
    return { tool: "bash", input: { command: `cat ${LONG_OUTPUT_FILE}`, description: "Show the file" } };
  if (results === 1) return { tool: "fork", input: { prompt: "Report.", wait_s: 60 } };
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

function readJson(text: string): Fields {
  try {
    return fields(JSON.parse(text));
  } catch {
    return {};
  }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
