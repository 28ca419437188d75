import type { LiveEvent } from "../../view/live.ts";

/** Starts to follow; the returned function ends it. */
export type FollowSession = (
  onEvent: (event: LiveEvent) => void,
  onState: (state: FollowState) => void,
) => () => void;

export type FollowState = "connected" | "reconnecting" | "ended";

/** Follows the server's events over `fetch`, since an EventSource cannot send the token. */
export function followEvents(
  headers: Readonly<Record<string, string>>,
  firstRevision: number,
): FollowSession {
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
          // A lost connection is tried again below.
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

/** The events in a text/event-stream; lines that are no data are passed over. */
export async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<LiveEvent> {
  const reader = stream
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) yield JSON.parse(line.slice("data:".length)) as LiveEvent;
    }
  }
}
