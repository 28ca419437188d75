import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { anthropicWire } from "./anthropic-wire.ts";
import { geminiWire } from "./gemini-wire.ts";
import { openAiChatWire } from "./openai-chat-wire.ts";
import { openAiResponsesWire } from "./openai-responses-wire.ts";
import { type Reply, type Step, takeStep, UNSCRIPTED_ANSWERS } from "./step.ts";
import {
  createThinkingRules,
  type ThinkingMode,
  type ThinkingRules,
  withThought,
} from "./thinking/thinking-rules.ts";
import {
  type AnswerContext,
  eventText,
  type Lane,
  laneOf,
  type Wire,
  type WireEvent,
  type WireRoute,
} from "./wire.ts";

/** Starts a model server on the loopback interface that answers by script and records every request. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const queue: Step[] = [];
  const requests: ModelRequest[] = [];
  const { isOwnRefusal = () => false } = options;
  const thinking = createThinkingRules(options.thinking, isOwnRefusal);
  const server = createServer((incoming, response) => {
    answerRequest({ queue, requests, incoming, response, options, thinking }).catch(() => response.destroy());
  });
  // On a busy machine a client may take its time between two requests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    thinking,
    script: (steps) => void queue.push(...steps),
    unusedSteps: () => [...queue],
    discardSteps: () => void queue.splice(0),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      const refused = thinking.takeRefusals();
      if (refused.length > 0) throw new Error(`thoughts were refused:\n${refused.join("\n")}`);
    },
  };
}

export interface ModelServerOptions {
  /** Looks at every request before the script does; a reply that it gives is sent instead. */
  readonly judge?: (request: JudgedRequest) => Reply | undefined;
  /** Called with every answer before it is sent, as one object even where it is streamed. */
  readonly onAnswer?: (answer: WireAnswer) => void;
  /** The parent of a session whose requests do not say it; undefined for a top-level one. */
  readonly parentOf?: (sessionId: string) => string | undefined;
  /** Unset: `bound`. A request with a thought that does not fit is refused before the judge sees it. */
  readonly thinking?: ThinkingMode;
  /** True for a request whose refusal is the client's own doing, which it mends itself: it fails no test. */
  readonly isOwnRefusal?: (request: Pick<JudgedRequest, "body">) => boolean;
}

export interface JudgedRequest {
  readonly wire: Wire["name"];
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly rawBody: string;
}

export interface WireAnswer {
  readonly wire: Wire["name"];
  readonly body: unknown;
}

/** A running scripted model. */
export interface ModelServer {
  /** What a provider calls its base URL, version included. */
  readonly url: string;
  /** Every request so far, oldest first. */
  readonly requests: readonly ModelRequest[];
  /** What became of the thoughts in them. */
  readonly thinking: Pick<ThinkingRules, "takeRefusals" | "dropped" | "within">;
  /** Adds steps behind those that still wait. */
  script(steps: readonly Step[]): void;
  unusedSteps(): readonly Step[];
  /** Forgets the steps that still wait. */
  discardSteps(): void;
  /** Ends every open stream too. Fails where a thought was refused and nobody took the refusal. */
  stop(): Promise<void>;
}

/** One request as it reached the model. */
export interface ModelRequest {
  readonly wire: Wire["name"];
  readonly lane: Lane;
  readonly atMs: number;
  readonly model: string;
  readonly sessionId?: string;
  /** Set on requests of a child session. */
  readonly parentSessionId?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** What was answered. */
  readonly reply: Reply;
}

/** Every protocol that the scripted model speaks. */
export const WIRES: readonly Wire[] = [openAiChatWire, openAiResponsesWire, anthropicWire, geminiWire];

interface Exchange {
  readonly queue: Step[];
  readonly requests: ModelRequest[];
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly options: ModelServerOptions;
  readonly thinking: ThinkingRules;
}

async function answerRequest(exchange: Exchange): Promise<void> {
  const { queue, requests, incoming, response } = exchange;
  const { judge, onAnswer, parentOf } = exchange.options;
  const rawBody = await textOf(incoming);
  const body = incoming.method === "POST" ? (JSON.parse(rawBody) as Record<string, unknown>) : {};
  const found = incoming.method === "POST" ? findRoute(incoming.url?.split("?")[0] ?? "", body) : undefined;
  if (found === undefined) {
    return sendJson(response, { status: 404, body: { error: { message: `no route ${incoming.url}` } } });
  }
  const { wire, model, streamed } = found;
  const lane = laneOf(rawBody);
  const headers = plainHeaders(incoming);
  const sessions = sessionsOf(headers, parentOf);
  const request = { lane, rawBody, ...sessions };
  const beta = headers["anthropic-beta"];
  const thoughts = exchange.thinking.receive({ wire: wire.name, model, body, beta });
  const reply =
    thoughts.type === "refusal"
      ? thoughts
      : withThought(
          judge?.({ wire: wire.name, model, body, rawBody }) ??
            takeStep(queue, request)?.reply ??
            UNSCRIPTED_ANSWERS[lane],
          thoughts,
        );
  const context: AnswerContext = {
    number: requests.length + 1,
    model,
    atMs: Date.now(),
    requestChars: rawBody.length,
    ...(thoughts.type === "taken" && thoughts),
  };
  requests.push({
    wire: wire.name,
    lane,
    atMs: context.atMs,
    model: context.model,
    ...sessions,
    headers,
    body,
    reply,
  });
  if (reply.type === "answer") onAnswer?.({ wire: wire.name, body: wire.body(reply, context) });
  await sendReply({ wire, reply, context, streamed, response });
}

/** The wire that answers a path, and what is asked of it. */
export function findRoute(
  path: string,
  body: Readonly<Record<string, unknown>>,
): (WireRoute & { readonly wire: Wire }) | undefined {
  for (const wire of WIRES) {
    const route = wire.route(path, body);
    if (route !== undefined) return { wire, ...route };
  }
  return undefined;
}

interface Delivery {
  readonly wire: Wire;
  readonly reply: Reply;
  readonly context: AnswerContext;
  readonly streamed: boolean;
  readonly response: ServerResponse;
}

async function sendReply({ wire, reply, context, streamed, response }: Delivery): Promise<void> {
  switch (reply.type) {
    case "refusal":
      return sendJson(response, reply);
    case "answer":
      if (reply.delayMs !== undefined) await sleep(reply.delayMs);
      await reply.after;
      if (!streamed) return sendJson(response, { status: 200, body: wire.body(reply, context) });
      await sendEvents(response, wire.events(reply, context), reply.paceMs);
      response.end();
      return;
    case "stream-error":
      if (!streamed) return sendJson(response, { status: 400, body: { error: reply.error } });
      sendEvents(response, wire.errorEvents(reply.error, context));
      response.end();
      return;
    case "stall":
      sendEvents(response, wire.openingEvents(reply.text ?? "", context));
      return;
    case "drop":
      sendEvents(response, wire.openingEvents(reply.text ?? "", context));
      await sleep(20); // so that the text leaves before the connection does
      response.destroy();
      return;
    default:
      reply satisfies never;
  }
}

async function sendEvents(response: ServerResponse, events: readonly WireEvent[], paceMs = 0): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const event of events) {
    response.write(eventText(event));
    if (paceMs > 0) await sleep(paceMs);
  }
}

function sendJson(
  response: ServerResponse,
  reply: Pick<Reply & { type: "refusal" }, "status" | "body" | "headers">,
): void {
  response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
  response.end(JSON.stringify(reply.body));
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function plainHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (name !== "authorization" && name !== "x-api-key" && value !== undefined)
      headers[name] = String(value);
  }
  return headers;
}

function sessionsOf(
  headers: Readonly<Record<string, string>>,
  parentOf: ModelServerOptions["parentOf"],
): { sessionId?: string; parentSessionId?: string } {
  const sessionId = headers["x-session-id"] ?? headers["x-session-affinity"];
  const parentSessionId =
    headers["x-parent-session-id"] ?? (sessionId === undefined ? undefined : parentOf?.(sessionId));
  return {
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(parentSessionId === undefined ? {} : { parentSessionId }),
  };
}
