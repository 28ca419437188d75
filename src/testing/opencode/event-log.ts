import { setTimeout as sleep } from "node:timers/promises";

/** Collects the events of one project from OpenCode's event stream, until it is stopped or the stream ends. */
export async function collectEvents({ url, directory, into }: EventSource): Promise<EventLog> {
  const target = new URL("/event", url);
  target.searchParams.set("directory", directory);
  const abort = new AbortController();
  const response = await fetch(target, { signal: abort.signal });
  if (!response.ok || response.body === null) throw new Error(`GET /event gave ${response.status}`);
  const reading = readEvents(response.body, into);
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

export interface EventLog {
  stop(): Promise<void>;
}

/** An event as OpenCode publishes it. */
export interface HostEvent {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

async function readEvents(body: ReadableStream<Uint8Array>, into: HostEvent[]): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        if (block.startsWith("data: ")) into.push(JSON.parse(block.slice("data: ".length)) as HostEvent);
      }
    }
  } catch {
    // The program ended or the log was stopped: what came until then is all there is.
  }
}
