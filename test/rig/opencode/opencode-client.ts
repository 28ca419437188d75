import { setTimeout as sleep } from "node:timers/promises";
import { LONG_ENOUGH_MS } from "../wait-for.ts";
import type { ModelChoice } from "./sandbox.ts";

/** The few calls to OpenCode's HTTP interface that tests and recordings need. */
export function createOpenCodeClient({ url, directory }: ClientOptions): OpenCodeClient {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const target = new URL(path, url);
    target.searchParams.set("directory", directory);
    const response = await fetch(target, {
      method,
      ...(body === undefined
        ? {}
        : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} gave ${response.status}: ${text.slice(0, 500)}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const isBusy = async (sessionId: string): Promise<boolean> =>
    sessionId in ((await call("GET", "/session/status")) as Record<string, unknown>);
  return {
    call,
    createSession: async (title) =>
      ((await call("POST", "/session", { title })) as { readonly id: string }).id,
    messages: async (sessionId) =>
      (await call("GET", `/session/${sessionId}/message`)) as readonly StoredMessage[],
    prompt: async (sessionId, prompt) => {
      await call("POST", `/session/${sessionId}/message`, promptBody(prompt));
    },
    promptInBackground: async (sessionId, prompt) => {
      await call("POST", `/session/${sessionId}/prompt_async`, promptBody(prompt));
    },
    summarize: async (sessionId, model) => {
      await call("POST", `/session/${sessionId}/summarize`, model);
    },
    abort: async (sessionId) => {
      await call("POST", `/session/${sessionId}/abort`, {});
    },
    isBusy,
    async waitUntilIdle(sessionId, timeoutMs = LONG_ENOUGH_MS) {
      const deadlineMs = Date.now() + timeoutMs;
      while (await isBusy(sessionId)) {
        if (Date.now() > deadlineMs)
          throw new Error(`Session ${sessionId} is still busy after ${timeoutMs} ms`);
        await sleep(50);
      }
    },
  };
}

export interface ClientOptions {
  readonly url: string;
  /** The project that every call is about. */
  readonly directory: string;
}

export interface OpenCodeClient {
  /** Any route; throws when the status is not a success. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Gives the id of the new session. */
  createSession(title: string): Promise<string>;
  messages(sessionId: string): Promise<readonly StoredMessage[]>;
  /** Returns when the agent has finished its turn. */
  prompt(sessionId: string, prompt: Prompt): Promise<void>;
  /** Returns at once. */
  promptInBackground(sessionId: string, prompt: Prompt): Promise<void>;
  summarize(sessionId: string, model: ModelChoice): Promise<void>;
  abort(sessionId: string): Promise<void>;
  isBusy(sessionId: string): Promise<boolean>;
  waitUntilIdle(sessionId: string, timeoutMs?: number): Promise<void>;
}

/** What a user sends: a text, or parts as OpenCode knows them. */
export interface Prompt {
  readonly text?: string;
  readonly parts?: readonly Readonly<Record<string, unknown>>[];
  readonly model?: ModelChoice;
  readonly agent?: string;
  /** True stores the message and asks nobody. */
  readonly noReply?: true;
}

/** A message as OpenCode stores it; only what the rig itself reads is typed. */
export interface StoredMessage {
  readonly info: StoredInfo;
  readonly parts: readonly StoredPart[];
}

export interface StoredInfo {
  readonly id: string;
  readonly role: string;
  readonly time: { readonly created: number; readonly completed?: number };
  readonly [field: string]: unknown;
}

export interface StoredPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

function promptBody({ text, parts = [], ...rest }: Prompt): Record<string, unknown> {
  return { ...rest, parts: [...(text === undefined ? [] : [{ type: "text", text }]), ...parts] };
}

/** Collects the events of one project from OpenCode's event stream, until it is stopped or the stream ends. */
export function collectEvents({ url, directory, into }: EventSource): Promise<EventLog> {
  const target = new URL("/event", url);
  target.searchParams.set("directory", directory);
  return followEvents({ target, tell: (event) => into.push(event as HostEvent) });
}

/** Reads a stream of events until it is stopped or ends; returns once it is open. */
export async function followEvents({ target, headers = {}, tell }: EventStream): Promise<EventLog> {
  const abort = new AbortController();
  const response = await fetch(target, { signal: abort.signal, headers });
  if (!response.ok || response.body === null)
    throw new Error(`GET ${target.pathname} gave ${response.status}`);
  const reading = readEvents(response.body, tell);
  return {
    async stop() {
      abort.abort();
      await Promise.race([reading, sleep(1_000)]);
    },
  };
}

export interface EventSource {
  readonly url: string;
  readonly directory: string;
  /** Where the events go; the same list may outlive a restart. */
  readonly into: HostEvent[];
}

interface EventStream {
  readonly target: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called for each event, as it was sent. */
  readonly tell: (event: unknown) => void;
}

export interface EventLog {
  stop(): Promise<void>;
}

/** An event as OpenCode publishes it. */
export interface HostEvent {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

async function readEvents(body: ReadableStream<Uint8Array>, tell: (event: unknown) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.split("\n").find((line) => line.startsWith("data: "));
        if (data !== undefined) tell(JSON.parse(data.slice("data: ".length)));
      }
    }
  } catch {
    // The program ended or the log was stopped: what came until then is all there is.
  }
}
