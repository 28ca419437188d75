import { type Context, Hono } from "hono";
import type { LiveEvent, ServedSession } from "../view/protocol.ts";
import { PAGE_SHELL, type PageAssets } from "./page-html.ts";
import { type Access, MAX_BODY_BYTES, TOKEN_PATH } from "./request-guard.ts";
import type { LiveSource, SessionSource } from "./session-source.ts";

/** The routes of the inspector. What is not about the session needs no token; everything else does. */
export function createInspectorApp({ source, assets, access }: InspectorAppOptions): InspectorApp {
  const app = new Hono();
  const streams = createEventStreams();
  app.get("/", (context) => context.html(PAGE_SHELL));
  app.get("/app.js", (context) => context.body(assets.script, 200, typed("text/javascript")));
  app.get("/app.css", (context) => context.body(assets.style, 200, typed("text/css")));
  app.post(TOKEN_PATH, async (context) => {
    const body = await readBody(context.req.raw, MAX_BODY_BYTES);
    if (body === undefined) return context.text("too long", 413);
    const oneTimeToken = tokenIn(body);
    if (oneTimeToken === undefined) return context.text("no token", 400);
    const token = access.exchange(oneTimeToken);
    return token === undefined ? context.text("not, or no longer, good", 401) : context.json({ token });
  });
  app.use("/api/*", async (context, next) => {
    if (!access.allows(context.req.header("authorization"))) return context.text("no access", 401);
    return next();
  });
  app.get("/api/session", (context) => context.json(servedSession(source)));
  app.get("/api/messages", (context) => {
    const from = countIn(context.req.query("from"), 0);
    const count = countIn(context.req.query("count"), MAX_PAGE_MESSAGES);
    if (from === undefined || count === undefined) return context.text("from and count are numbers", 400);
    const messages = source.transcript().slice(from, from + Math.min(count, MAX_PAGE_MESSAGES));
    return context.json({ from, messages });
  });
  const { live } = source;
  if (live !== undefined) app.get("/api/events", (context) => openStream(context, { live, streams }));
  app.notFound((context) => context.text("not here", 404));
  app.onError((_, context) => context.text("a fault of Carryover", 500));
  return { app, streams };
}

interface InspectorAppOptions {
  readonly source: SessionSource;
  readonly assets: PageAssets;
  readonly access: Access;
}

interface InspectorApp {
  readonly app: Hono;
  /** Who follows the session. */
  readonly streams: EventStreams;
}

/** What a page of messages has at most. */
const MAX_PAGE_MESSAGES = 200;

function servedSession(source: SessionSource): ServedSession {
  const { live } = source;
  return {
    ...source.head(),
    messages: source.transcript().length,
    ...(live && { live: { revision: live.revision() } }),
  };
}

interface OpenStream {
  readonly live: LiveSource;
  readonly streams: EventStreams;
}

function openStream(context: Context, { live, streams }: OpenStream): Response {
  const sinceRevision = countIn(context.req.query("revision"), 0);
  if (sinceRevision === undefined) return context.text("revision is a number", 400);
  const headers = { "content-type": "text/event-stream; charset=utf-8" };
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  const body = streams.open((listener) => live.listen(listener, sinceRevision));
  return body === undefined ? context.text("too many listen", 503) : context.body(body, 200, headers);
}

function typed(type: string): Record<string, string> {
  return { "content-type": `${type}; charset=utf-8` };
}

function tokenIn(body: string): string | undefined {
  try {
    const { token } = JSON.parse(body) as { readonly token?: unknown };
    return typeof token === "string" ? token : undefined;
  } catch {
    return undefined;
  }
}

function countIn(value: string | undefined, otherwise: number): number | undefined {
  if (value === undefined) return otherwise;
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/** The streams of events that are open. */
interface EventStreams {
  /** A body that carries every event, or undefined when as many as allowed are open. */
  open(listen: Listen): ReadableStream<Uint8Array> | undefined;
  count(): number;
  closeAll(): void;
}

/** Begins to listen, and gives the function that ends it. */
type Listen = (listener: (event: LiveEvent) => void) => () => void;

/** None yet. Streams that nobody reads are closed, so that they do not fill the memory. */
function createEventStreams({
  maxStreams = MAX_STREAMS,
  maxUnreadBytes = MAX_UNREAD_BYTES,
}: EventStreamsOptions = {}): EventStreams {
  const closers = new Set<() => void>();
  return {
    open(listen) {
      if (closers.size >= maxStreams) return undefined;
      let close = (): void => {};
      return new ReadableStream<Uint8Array>(
        {
          start(controller) {
            const send = (text: string): void => {
              if ((controller.desiredSize ?? 0) < 0) close();
              else controller.enqueue(encoder.encode(text));
            };
            const beat = setInterval(() => send(":\n\n"), BEAT_MS);
            let end = (): void => {};
            close = () => {
              if (!closers.delete(close)) return;
              clearInterval(beat);
              end();
              controller.close();
            };
            closers.add(close);
            send(":\n\n");
            end = listen((event) => send(`data: ${JSON.stringify(event)}\n\n`));
          },
          cancel: () => close(),
        },
        new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
      );
    },
    count: () => closers.size,
    closeAll: () => {
      for (const close of [...closers]) close();
    },
  };
}

interface EventStreamsOptions {
  readonly maxStreams?: number;
  readonly maxUnreadBytes?: number;
}

const MAX_STREAMS = 32;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const BEAT_MS = 15_000;
const encoder = new TextEncoder();

/** The text of a request's body, or undefined as soon as it is longer than allowed. */
async function readBody(request: Request, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const reader = request.body?.getReader();
  if (reader === undefined) return "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    sizeBytes += read.value.byteLength;
    if (sizeBytes > maxBytes) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(read.value);
  }
  return Buffer.concat(chunks).toString("utf8");
}
