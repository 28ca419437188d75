import type { LiveSource } from "./session-source.ts";

/** The event streams of a session that is followed. */
export interface EventStreams {
  /** The body of a new stream: what happened since that revision, then every event. Undefined when as many as allowed are open. */
  open(sinceRevision: number): ReadableStream<Uint8Array> | undefined;
  count(): number;
  closeAll(): void;
}

/** A stream whose client does not read is closed, so that unread events cannot fill the memory. */
export function createEventStreams(live: LiveSource): EventStreams {
  const closers = new Set<() => void>();
  const encoder = new TextEncoder();
  return {
    open(sinceRevision) {
      if (closers.size >= MAX_STREAMS) return undefined;
      let close = (): void => {};
      return new ReadableStream<Uint8Array>(
        {
          start(controller) {
            const send = (text: string): void => {
              if ((controller.desiredSize ?? 0) < 0) close();
              else controller.enqueue(encoder.encode(text));
            };
            const heartbeat = setInterval(() => send(":\n\n"), HEARTBEAT_MS);
            let unsubscribe = (): void => {};
            close = () => {
              if (!closers.delete(close)) return;
              clearInterval(heartbeat);
              unsubscribe();
              controller.close();
            };
            closers.add(close);
            send(":\n\n");
            unsubscribe = live.listen((event) => send(`data: ${JSON.stringify(event)}\n\n`), sinceRevision);
          },
          cancel: () => close(),
        },
        new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
      );
    },
    count: () => closers.size,
    closeAll: () => {
      for (const close of [...closers]) close();
    },
  };
}

const MAX_STREAMS = 32;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const HEARTBEAT_MS = 15_000;
