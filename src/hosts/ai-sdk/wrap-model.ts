import type { WarningCode } from "../../session/events.ts";
import type { Session } from "../../session/session.ts";
import { safeJson } from "../../text/json.ts";
import { asArray, asObject } from "../../text/unknown-value.ts";
import {
  type AnswerFacts,
  type AttemptEnd,
  answerFacts,
  type Conversation,
  isEmptyContent,
  isSilent,
} from "./conversation.ts";
import { type CallableModel, GiveUpError, likeModel, type ModelCall } from "./language-model.ts";
import { createManagementReader } from "./provider-management.ts";

/** The model with a session in front of it: sends the session's window, and tries again where the session knows how. */
export function wrapModel(
  base: CallableModel,
  { session, conversation, onCall, onWarning }: WrapOptions,
): CallableModel {
  async function send<T>(call: ModelCall, attempt: (call: ModelCall) => Promise<Attempt<T>>): Promise<T> {
    for (;;) {
      const made = await attempt(await requestFor(call));
      if (!isWorthAnotherTry(made)) return made.settle();
      await made.discard();
    }
  }

  const management = createManagementReader(base);

  let droppedBefore = 0;

  /** What the provider says that it did not read of the thoughts that it was sent; the same is told once. */
  function tellDropped(providerMetadata: unknown): void {
    const { inputTransformations } = asObject(asObject(providerMetadata).anthropic);
    const count = asArray(inputTransformations).filter(
      (each) => asObject(each).type === "thinking_dropped",
    ).length;
    if (count > droppedBefore)
      onWarning(
        "thoughts-dropped",
        `The provider did not read ${count} of the model's earlier thoughts: system prompt, tools or messages before them have changed, or another model made them.`,
      );
    droppedBefore = count;
  }

  function recordAnswer(result: unknown): void {
    const { providerMetadata } = asObject(result);
    management.noteAnswer(providerMetadata);
    tellDropped(providerMetadata);
    conversation.recordAnswer(answerFacts(result));
  }

  async function requestFor(call: ModelCall): Promise<ModelCall> {
    const { abortSignal, tools } = call;
    const { wire, action } = await conversation.prepare(call.prompt, {
      ...(abortSignal && { signal: abortSignal }),
      toolsChars: tools === undefined ? 0 : safeJson(tools).length,
      management: management.of(call),
    });
    abortSignal?.throwIfAborted();
    if (action.type === "give-up") throw new GiveUpError(action);
    const { maxOutputTokens } = action.type === "lower-output" ? action : call;
    return { ...call, prompt: wire, ...(maxOutputTokens !== undefined && { maxOutputTokens }) };
  }

  function isWorthAnotherTry({ end }: Attempt<unknown>): boolean {
    if (end.type === "answer") return false;
    if (end.type === "nothing") return session.onEmptyAnswer(end.facts) === "overflow";
    return session.onProviderError(end.error, { provider: base.provider }).recovery !== "none";
  }

  async function generate(call: ModelCall): Promise<Attempt<unknown>> {
    try {
      const result = await base.doGenerate(call);
      const facts = answerFacts(result);
      const isEmpty = isEmptyContent(asObject(result).content);
      if (!isEmpty) recordAnswer(result);
      return {
        end: isEmpty ? { type: "nothing", facts } : { type: "answer" },
        settle: () => result,
        discard: async () => undefined,
      };
    } catch (error) {
      return { end: { type: "error", error }, settle: () => rethrow(error), discard: async () => undefined };
    }
  }

  async function stream(call: ModelCall): Promise<Attempt<unknown>> {
    try {
      const result = asObject(await base.doStream(call));
      const held = await holdStream(result.stream as ReadableStream<unknown>, {
        onFinish: recordAnswer,
        onLateError: (error) => void session.onProviderError(error, { provider: base.provider }),
      });
      return {
        end: held.end,
        settle: () => ({ ...result, stream: held.release() }),
        discard: held.cancel,
      };
    } catch (error) {
      return { end: { type: "error", error }, settle: () => rethrow(error), discard: async () => undefined };
    }
  }

  return likeModel(base, {
    doGenerate(call) {
      onCall(call, "generate");
      return send(call, generate);
    },
    doStream(call) {
      onCall(call, "stream");
      return send(call, stream);
    },
  });
}

interface WrapOptions {
  readonly session: Session;
  readonly conversation: Conversation;
  /** Called with every request before it is sent. */
  readonly onCall: (call: ModelCall, way: "generate" | "stream") => void;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** One request that was sent: how it ended, and how to use or discard its answer. */
interface Attempt<T> {
  readonly end: AttemptEnd;
  /** Gives the answer to the caller, or throws the error as it was. */
  settle(): T;
  discard(): Promise<void>;
}

function rethrow(error: unknown): never {
  throw error;
}

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
