import type { LiveEvent } from "../view/live.ts";

/** The streams of events that are open. */
export interface EventStreams {
  /** A body that carries every event, or undefined when as many as allowed are open. */
  open(listen: Listen): ReadableStream<Uint8Array> | undefined;
  count(): number;
  closeAll(): void;
}

/** Begins to listen, and gives the function that ends it. */
export type Listen = (listener: (event: LiveEvent) => void) => () => void;

/** None yet. Streams that nobody reads are closed, so that they do not fill the memory. */
export function createEventStreams({
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

export interface EventStreamsOptions {
  readonly maxStreams?: number;
  readonly maxUnreadBytes?: number;
}

const MAX_STREAMS = 32;
const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
const BEAT_MS = 15_000;
const encoder = new TextEncoder();
