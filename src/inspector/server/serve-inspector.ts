import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { jsonOrText } from "../../text/json.ts";
import { asObject, asString } from "../../text/unknown-value.ts";
import type { ServedSession } from "../view/protocol.ts";
import { type Access, createAccess } from "./access.ts";
import { createEventStreams, type EventStreams } from "./event-streams.ts";
import type { PageAssets } from "./page-assets.ts";
import { PAGE_SHELL } from "./page-html.ts";
import { checkRequest, type Refusal, SECURITY_HEADERS, TOKEN_PATH } from "./request-guard.ts";
import type { SessionSource } from "./session-source.ts";

/**
 * Serves the page of one session on 127.0.0.1 until it is stopped or has been idle for long. Every request passes
 * the guard (`checkRequest`) before its route; the page itself is public, the session behind it needs a token. The
 * page (page/main.tsx) fetches the session, computes everything with the engine in the browser (view/inspection.ts),
 * and follows a running session through `/api/events`, which server/live/ feeds.
 */
export async function serveInspector(options: ServeOptions): Promise<ServedInspector> {
  const { source, assets, port = 0, idleMs = IDLE_MS, headersMs = HEADERS_MS } = options;
  const access = createAccess();
  const streams = source.live && createEventStreams(source.live);
  const connections = createConnections();
  const app = createRoutes({ source, assets, access, streams });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  let lastRequestAtMs = performance.now();
  let ownPort = port;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    lastRequestAtMs = performance.now();
    setSecurityHeaders(response);
    const { method = "", url: target = "", rawHeaders } = request;
    const refusal = checkRequest({ method, target, rawHeaders }, ownPort);
    if (target.split("?", 1)[0] === EVENTS_PATH) connections.keep(request.socket, response);
    if (refusal !== undefined) refuse(response, refusal);
    else void listener(request, response);
  };
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: headersMs * 2,
      connectionsCheckingInterval: Math.min(1_000, headersMs),
      // The guard refuses a request without a host, so that the answer has our headers.
      requireHostHeader: false,
    },
    answer,
  );
  server.on("connection", connections.take);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    endSocket(socket, CLIENT_ERRORS[error.code ?? ""] ?? 400),
  );
  server.on("connect", (_, socket) => endSocket(socket, 405));
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    setSecurityHeaders(response);
    response.writeHead(417, { connection: "close" }).end();
    request.resume();
  });
  await listen(server, port);
  ownPort = (server.address() as AddressInfo).port;

  let stop: (reason: EndReason) => void = () => {};
  const ended = new Promise<EndReason>((resolve) => {
    stop = (reason) => {
      clearInterval(idleTimer);
      streams?.closeAll();
      server.close(() => resolve(reason));
      server.closeAllConnections();
    };
  });
  const idleTimer = setInterval(
    () => {
      if (!streams?.count() && performance.now() - lastRequestAtMs >= idleMs) stop("idle");
    },
    Math.min(idleMs, IDLE_CHECK_MS),
  );
  const origin = `http://127.0.0.1:${ownPort}`;
  return {
    origin,
    invite: () => `${origin}/#t=${access.invite()}`,
    ended,
    async stop() {
      stop("stopped");
      await ended;
    },
  };
}

interface ServeOptions {
  readonly source: SessionSource;
  readonly assets: PageAssets;
  /** 0 lets the system choose. */
  readonly port?: number;
  /** The server ends after this long without a request or an open event stream. */
  readonly idleMs?: number;
  /** How long the head of a request may take. */
  readonly headersMs?: number;
}

export interface ServedInspector {
  readonly origin: string;
  /** A new address that opens the page once: it contains a one-time token. */
  invite(): string;
  readonly ended: Promise<EndReason>;
  stop(): Promise<void>;
}

export type EndReason = "idle" | "stopped";

const IDLE_MS = 30 * 60_000;
const IDLE_CHECK_MS = 5_000;
const HEADERS_MS = 10_000;
const MAX_CONNECTIONS = 128;
const EVENTS_PATH = "/api/events";

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

/** Called before anything else, so that no answer lacks them. */
function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
}

function refuse(response: ServerResponse, { status, reason, allow }: Refusal): void {
  if (allow !== undefined) response.setHeader("allow", allow);
  // Otherwise the rest of an unread body would be parsed as the next request.
  response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(reason);
}

/**
 * The open connections. When there are too many, the oldest one that follows no session is closed, so that a client
 * that sends half a request cannot block others.
 */
function createConnections() {
  const open = new Set<Socket>();
  const kept = new Set<Socket>();
  return {
    take(socket: Socket): void {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
      if (open.size <= MAX_CONNECTIONS) return;
      for (const each of open) if (!kept.has(each)) return void each.destroy();
      socket.destroy();
    },
    /** Keeps a connection for as long as its answer is open. */
    keep(socket: Socket, response: ServerResponse): void {
      kept.add(socket);
      response.once("close", () => kept.delete(socket));
    },
  };
}

/** Answers on the raw socket when Node could not parse the request, and closes it. */
function endSocket(socket: Duplex, status: number): void {
  if (!socket.writable) return void socket.destroy();
  const headers = Object.entries({ ...SECURITY_HEADERS, "content-length": "0", connection: "close" });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}\r\n`);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

interface RouteOptions {
  readonly source: SessionSource;
  readonly assets: PageAssets;
  readonly access: Access;
  /** Set where the session is followed. */
  readonly streams: EventStreams | undefined;
}

/** The routes: the page and its assets need no token, everything under `/api` does. */
function createRoutes({ source, assets, access, streams }: RouteOptions): Hono {
  const app = new Hono();
  app.get("/", (context) => context.html(PAGE_SHELL));
  app.get("/app.js", (context) => context.body(assets.script, 200, contentType("text/javascript")));
  app.get("/app.css", (context) => context.body(assets.style, 200, contentType("text/css")));
  app.post(TOKEN_PATH, async (context) => {
    const oneTimeToken = asString(asObject(jsonOrText(await context.req.text())).token);
    if (oneTimeToken === undefined) return context.text("no token", 400);
    const token = access.exchange(oneTimeToken);
    return token === undefined ? context.text("not, or no longer, good", 401) : context.json({ token });
  });
  app.use("/api/*", async (context, next) => {
    if (!access.allows(context.req.header("authorization"))) return context.text("no access", 401);
    return next();
  });
  const { live } = source;
  app.get("/api/session", (context) => {
    const messages = source.transcript().length;
    const served: ServedSession = { ...source.head(), messages };
    return context.json(live === undefined ? served : { ...served, live: { revision: live.revision() } });
  });
  app.get("/api/messages", (context) => {
    const from = parseCount(context.req.query("from"), 0);
    const count = parseCount(context.req.query("count"), MAX_PAGE_MESSAGES);
    if (from === undefined || count === undefined) return context.text("from and count are numbers", 400);
    const messages = source.transcript().slice(from, from + Math.min(count, MAX_PAGE_MESSAGES));
    return context.json({ from, messages });
  });
  if (streams !== undefined) app.get(EVENTS_PATH, (context) => openStream(context, streams));
  app.notFound((context) => context.text("not here", 404));
  app.onError((_, context) => context.text("a fault of Carryover", 500));
  return app;
}

/** The most messages in one answer. */
const MAX_PAGE_MESSAGES = 200;

function openStream(context: Context, streams: EventStreams): Response {
  const sinceRevision = parseCount(context.req.query("revision"), 0);
  if (sinceRevision === undefined) return context.text("revision is a number", 400);
  const headers = contentType("text/event-stream");
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  const body = streams.open(sinceRevision);
  return body === undefined ? context.text("too many listen", 503) : context.body(body, 200, headers);
}

function contentType(type: string): Record<string, string> {
  return { "content-type": `${type}; charset=utf-8` };
}

function parseCount(value: string | undefined, defaultCount: number): number | undefined {
  if (value === undefined) return defaultCount;
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
