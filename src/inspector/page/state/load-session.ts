import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Message } from "../../../transcript/message.ts";
import { DATA_BLOCK_ID, type LiveEvent, type ServedSession } from "../../view/protocol.ts";
import type { InspectedSession } from "../../view/types.ts";

/** Loads the session: from the data block of a single-file page, or from the server that served the page. */
export async function loadSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const block = document.getElementById(DATA_BLOCK_ID);
  return block === null ? fetchSession(onProgress) : (JSON.parse(block.textContent ?? "") as LoadedSession);
}

export interface LoadedSession {
  readonly session: InspectedSession;
  /** Set when the session is followed while it runs. */
  readonly follow?: FollowSession;
}

/** How much of the session was loaded. */
export interface LoadProgress {
  readonly doneMessages: number;
  readonly totalMessages: number;
}

/**
 * Fetches the session in pages. The one-time token is removed from the address at once; after a reload the tab uses
 * the token that it was given.
 */
async function fetchSession(onProgress: (progress: LoadProgress) => void): Promise<LoadedSession> {
  const headers = { authorization: `Bearer ${await exchangeToken()}` };
  const get = async <Answer>(path: string): Promise<Answer> => {
    const response = await fetch(path, { headers });
    if (response.status === 401) sessionStorage.removeItem(TOKEN_ITEM);
    if (response.status === 401) throw new Error(`The server of this address is another by now. ${AGAIN}`);
    if (!response.ok) throw new Error(`The server answered ${response.status} to ${path}.`);
    return (await response.json()) as Answer;
  };
  const { messages: totalMessages, live, ...head } = await get<ServedSession>("/api/session");
  const transcript: Message[] = [];
  while (transcript.length < totalMessages) {
    onProgress({ doneMessages: transcript.length, totalMessages });
    const path = `/api/messages?from=${transcript.length}&count=${PAGE_MESSAGES}`;
    const { messages } = await get<{ readonly messages: readonly Message[] }>(path);
    if (messages.length === 0) break;
    for (const message of messages) transcript.push(message);
  }
  const session = { ...head, transcript };
  return live === undefined ? { session } : { session, follow: followEvents(headers, live.revision) };
}

const PAGE_MESSAGES = 200;

async function exchangeToken(): Promise<string> {
  const oneTimeToken = new URLSearchParams(location.hash.slice(1)).get("t");
  if (oneTimeToken === null) {
    const kept = sessionStorage.getItem(TOKEN_ITEM);
    if (kept === null) throw new Error(`This address has no token. ${AGAIN}`);
    return kept;
  }
  history.replaceState(null, "", location.pathname);
  const response = await fetch("/api/token", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: oneTimeToken }),
  });
  if (!response.ok) throw new Error(`This address was used before, or its server is gone. ${AGAIN}`);
  const { token } = (await response.json()) as { readonly token: string };
  sessionStorage.setItem(TOKEN_ITEM, token);
  return token;
}

/** Survives a reload of this tab; useless after the server has ended. */
const TOKEN_ITEM = "carryover-token";
const AGAIN =
  "Every address works once. Press Enter in the terminal for another, or run carryover inspect --open again.";

/** Starts to follow the session; the returned function ends it. */
export type FollowSession = (
  onEvent: (event: LiveEvent) => void,
  onState: (state: FollowState) => void,
) => () => void;

export type FollowState = "connected" | "reconnecting" | "ended";

/** Follows the server's events over `fetch`, since an EventSource cannot send the token. */
function followEvents(headers: Readonly<Record<string, string>>, firstRevision: number): FollowSession {
  return (onEvent, onState) => {
    const abort = new AbortController();
    let revision = firstRevision;
    const listen = async (): Promise<void> => {
      for (let failures = 0; failures < MAX_FAILURES && !abort.signal.aborted; failures++) {
        try {
          const response = await fetch(`/api/events?revision=${revision}`, { headers, signal: abort.signal });
          if (!response.ok || response.body === null) break;
          onState("connected");
          for await (const event of eventsOf(response.body)) {
            failures = 0;
            if (event.type === "messages") revision = event.revision;
            onEvent(event);
          }
        } catch {
          // A lost connection is retried below.
        }
        if (abort.signal.aborted) return;
        onState("reconnecting");
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
      if (!abort.signal.aborted) onState("ended");
    };
    void listen();
    return () => abort.abort();
  };
}

const MAX_FAILURES = 5;
const RETRY_MS = 1_000;

/** The events of a server-sent stream. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<LiveEvent> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    yield JSON.parse(read.value.data) as LiveEvent;
}
