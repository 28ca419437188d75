import { fields } from "../../formats/fields.ts";
import { type AnswerFacts, type AttemptEnd, answerFacts, isSilent } from "./answer-facts.ts";

/**
 * Reads a stream until it brings something to the reader, ends or fails, and holds back what came until then: up to
 * that point the request can still be sent again without anybody noticing.
 */
export async function holdStream(
  stream: ReadableStream<unknown>,
  listeners: StreamListeners,
): Promise<HeldStream> {
  const reader = stream.getReader();
  const held: unknown[] = [];
  const end = await readOpening(reader, held);

  function hear(value: unknown): void {
    const part = fields(value);
    if (part.type === "finish") listeners.onFinish(answerFacts(part));
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
          hear(value);
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      });
    },
  };
}

export interface StreamListeners {
  /** The facts of an answer that came to its end. */
  readonly onFinish: (facts: AnswerFacts) => void;
  /** An error behind something that the reader has seen already. */
  readonly onLateError: (error: unknown) => void;
}

export interface HeldStream {
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
    const part = fields(value);
    if (part.type === "error") return { type: "error", error: part.error };
    if (part.type === "finish") facts = answerFacts(part);
    if (!isSilent(part)) return { type: "answer" };
  }
}
