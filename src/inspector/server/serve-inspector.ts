import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
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
import { type ServedSession, TRUSTED_TYPES_POLICY } from "../view/protocol.ts";
import { createEventStreams, type EventStreams } from "./event-streams.ts";
import { PAGE_SHELL, type PageAssets, type SessionSource } from "./page-content.ts";

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
      // A request without a host is refused by the guard, so that the answer has our headers.
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
 * The open connections. One too many takes the place of the oldest that follows no session: whoever sends half a request,
 * or does not read what he asked for, shuts nobody out.
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

/** Answers on the bare socket, where Node has made no request of what came in, and waits for no answer to that. */
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

/** Checks the head of a request against everything but tokens; undefined when it may go on to its route. */
export function checkRequest(request: RequestHead, ownPort: number): Refusal | undefined {
  const [host, ...moreHosts] = valuesOf(request, "host");
  // DNS rebinding: another site's name that resolves to this machine.
  if (host === undefined || moreHosts.length > 0 || !isOwnHost(host, ownPort))
    return { status: 403, reason: "not this host" };
  if (valuesOf(request, "origin").some((origin) => origin !== `http://${host}`))
    return { status: 403, reason: "another origin" };
  if (valuesOf(request, "sec-fetch-site").some((site) => site !== "same-origin" && site !== "none"))
    return { status: 403, reason: "asked by another site" };
  if (!request.target.startsWith("/") || request.target.length > MAX_TARGET_CHARS)
    return { status: 400, reason: "no path" };
  if (valuesOf(request, "upgrade").length > 0) return { status: 400, reason: "nothing to upgrade to" };
  if (declaredBytes(request) > MAX_BODY_BYTES) return { status: 413, reason: "too long" };
  const isWrite = request.target === TOKEN_PATH;
  const methods = isWrite ? ["POST"] : ["GET", "HEAD"];
  if (!methods.includes(request.method))
    return { status: 405, reason: "not that method", allow: methods.join(", ") };
  return isWrite ? checkBody(request) : checkNoBody(request);
}

/** The start of a request as it came over the wire. */
export interface RequestHead {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Names and values alternating, duplicates included. */
  readonly rawHeaders: readonly string[];
}

interface Refusal {
  readonly status: 400 | 403 | 405 | 411 | 413 | 415;
  readonly reason: string;
  /** The methods that the route takes. */
  readonly allow?: string;
}

/** The one route that takes a body. */
const TOKEN_PATH = "/api/token";
const MAX_BODY_BYTES = 65_536;

const MAX_TARGET_CHARS = 2_048;

function checkBody(request: RequestHead): Refusal | undefined {
  const [type, ...moreTypes] = valuesOf(request, "content-type");
  // A form on another site cannot send this content type without a preflight, which we never allow.
  if (type === undefined || moreTypes.length > 0 || !/^application\/json\s*(;|$)/i.test(type))
    return { status: 415, reason: "only JSON" };
  // The page says how long its body is: a longer one was refused above, and Node reads no more than was said.
  const isOpenEnded = valuesOf(request, "transfer-encoding").length > 0;
  return isOpenEnded ? { status: 411, reason: "no length" } : undefined;
}

function checkNoBody(request: RequestHead): Refusal | undefined {
  const hasBody = declaredBytes(request) > 0 || valuesOf(request, "transfer-encoding").length > 0;
  return hasBody ? { status: 400, reason: "no body is wanted" } : undefined;
}

function declaredBytes(request: RequestHead): number {
  return Math.max(0, ...valuesOf(request, "content-length").map(Number));
}

function isOwnHost(host: string, port: number): boolean {
  return OWN_NAMES.some((name) => host === `${name}:${port}` || (port === 80 && host === name));
}

const OWN_NAMES = ["127.0.0.1", "localhost", "[::1]"];

function valuesOf({ rawHeaders }: RequestHead, name: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? "");
  return values;
}

/** Who may read the session: a one-time token in the page's address is exchanged for a token that is sent with every request. */
interface Access {
  /** Creates a one-time token for an address. */
  invite(): string;
  /** The token for all following requests; undefined when the one-time token is unknown or used. */
  exchange(oneTimeToken: string): string | undefined;
  /** Whether an `Authorization` header carries a token that was given out. */
  allows(authorization: string | undefined): boolean;
}

/** Tokens have 256 bits and are kept only as hashes. */
export function createAccess(): Access {
  const invitations: Buffer[] = [];
  const admitted: Buffer[] = [];
  const issueInto = (hashes: Buffer[]): string => {
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    hashes.push(hashOf(token));
    return token;
  };
  return {
    invite: () => issueInto(invitations),
    exchange(oneTimeToken) {
      const index = indexOfToken(invitations, oneTimeToken);
      if (index < 0) return undefined;
      invitations.splice(index, 1);
      return issueInto(admitted);
    },
    allows(authorization) {
      const token = /^Bearer ([\w-]{1,200})$/i.exec(authorization ?? "")?.[1];
      return token !== undefined && indexOfToken(admitted, token) >= 0;
    },
  };
}

const TOKEN_BYTES = 32;

/** Compares with every hash, so that the time taken reveals nothing about any of them. */
function indexOfToken(hashes: readonly Buffer[], token: string): number {
  const wanted = hashOf(token);
  return hashes.reduce((found, hash, index) => (timingSafeEqual(hash, wanted) ? index : found), -1);
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Headers of every answer, errors included: nothing is loaded from elsewhere, cached, framed or sniffed, and no other origin is allowed anything. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    `trusted-types ${TRUSTED_TYPES_POLICY}`,
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};
