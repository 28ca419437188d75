import { asObject } from "../text/unknown-value.ts";
import { type AnswerFacts, answerFacts, isSilent } from "./answer.ts";

/**
 * Reads a stream until it has content, ends or fails, and holds back what came until then: up to that point the
 * request can be sent again without the caller noticing.
 */
export async function holdStream(
  stream: ReadableStream<unknown>,
  listeners: StreamListeners,
): Promise<HeldStream> {
  const reader = stream.getReader();
  const held: unknown[] = [];
  const end = await readOpening(reader, held);

  function notify(value: unknown): void {
    const part = asObject(value);
    if (part.type === "finish") listeners.onFinish(part);
    if (part.type === "error") listeners.onLateError(part.error);
  }

  return {
    end,
    cancel: () => reader.cancel().catch(() => undefined),
    release() {
      let next = 0;
      return new ReadableStream<unknown>({
        async pull(controller) {
          if (next < held.length) {
            controller.enqueue(held[next++]);
            return;
          }
          const { done, value } = await reader.read();
          if (done) return controller.close();
          notify(value);
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      });
    },
  };
}

interface StreamListeners {
  /** The last part of an answer that came to its end. */
  readonly onFinish: (part: unknown) => void;
  /** An error behind something that the reader has seen already. */
  readonly onLateError: (error: unknown) => void;
}

interface HeldStream {
  readonly end: AttemptEnd;
  /** The whole stream, from its beginning. */
  release(): ReadableStream<unknown>;
  cancel(): Promise<void>;
}

async function readOpening(
  reader: ReadableStreamDefaultReader<unknown>,
  held: unknown[],
): Promise<AttemptEnd> {
  let facts: AnswerFacts = {};
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { type: "nothing", facts };
    held.push(value);
    const part = asObject(value);
    if (part.type === "error") return { type: "error", error: part.error };
    if (part.type === "finish") facts = answerFacts(part);
    if (!isSilent(part)) return { type: "answer" };
  }
}

/** How a request ended, as far as that is known before anything is shown to the caller. */
export type AttemptEnd =
  | { readonly type: "answer" }
  | { readonly type: "nothing"; readonly facts: AnswerFacts }
  | { readonly type: "error"; readonly error: unknown };
