import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import { createInspectorApp } from "./app.ts";
import type { PageAssets } from "./page-html.ts";
import { checkRequest, createAccess, type Refusal, SECURITY_HEADERS } from "./request-guard.ts";
import type { SessionSource } from "./session-source.ts";

/** Serves a session to the people of this machine who have the address, until it is stopped or nobody has asked for long. */
export async function serveInspector(options: ServeOptions): Promise<ServedInspector> {
  const { source, assets, port = 0, idleMs = IDLE_MS, headersMs = HEADERS_MS } = options;
  const access = createAccess();
  const { app, streams } = createInspectorApp({ source, assets, access });
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  let lastAskedAtMs = performance.now();
  let ownPort = port;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    lastAskedAtMs = performance.now();
    secure(response);
    const { method = "", url: target = "", rawHeaders } = request;
    const refusal = checkRequest({ method, target, rawHeaders }, ownPort);
    if (refusal !== undefined) refuse(response, refusal);
    else void listener(request, response);
  };
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: headersMs * 2,
      connectionsCheckingInterval: Math.min(1_000, headersMs),
      // A request without a host is refused by us, with our headers.
      requireHostHeader: false,
    },
    answer,
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    endSocket(socket, CLIENT_ERRORS[error.code ?? ""] ?? 400),
  );
  server.on("connect", (_, socket) => endSocket(socket, 405));
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    secure(response);
    response.writeHead(417, { connection: "close" }).end();
    request.resume();
  });
  await listen(server, port);
  ownPort = (server.address() as AddressInfo).port;

  let stop: (reason: EndReason) => void = () => {};
  const ended = new Promise<EndReason>((resolve) => {
    stop = (reason) => {
      clearInterval(watch);
      streams.closeAll();
      server.close(() => resolve(reason));
      server.closeAllConnections();
    };
  });
  const watch = setInterval(
    () => {
      if (streams.count() === 0 && performance.now() - lastAskedAtMs >= idleMs) stop("idle");
    },
    Math.min(idleMs, IDLE_LOOK_MS),
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
  /** How long nobody has to ask until the server ends. */
  readonly idleMs?: number;
  /** How long the head of a request may take. */
  readonly headersMs?: number;
}

export interface ServedInspector {
  readonly origin: string;
  /** An address that opens the page once; the token is in it, so it is for one pair of eyes. */
  invite(): string;
  readonly ended: Promise<EndReason>;
  stop(): Promise<void>;
}

export type EndReason = "idle" | "stopped";

const IDLE_MS = 30 * 60_000;
const IDLE_LOOK_MS = 5_000;
const HEADERS_MS = 10_000;
const MAX_CONNECTIONS = 128;

const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
};

/** Set before anything else happens, so that no answer can be without them. */
function secure(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
}

function refuse(response: ServerResponse, { status, reason, allow }: Refusal): void {
  if (allow !== undefined) response.setHeader("allow", allow);
  // The rest of a body that nobody reads must not be taken for the next request.
  response.setHeader("connection", "close");
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(reason);
}

/** Answers where there is no request to speak of. */
function endSocket(socket: Duplex, status: number): void {
  if (!socket.writable) return void socket.destroy();
  const headers = Object.entries({ ...SECURITY_HEADERS, "content-length": "0", connection: "close" });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
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
