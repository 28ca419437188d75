import { fields } from "../../formats/fields.ts";
import type { Session } from "../../session/create-session.ts";
import { safeJson } from "../../text/safe-json.ts";
import { type AttemptEnd, answerFacts, isEmptyContent } from "./answer-facts.ts";
import type { Conversation } from "./conversation.ts";
import { GiveUpError } from "./give-up-error.ts";
import { holdStream } from "./hold-stream.ts";
import type { CallableModel, ModelCall } from "./language-model.ts";

/** The model with a session in front of it: sends the session's window, and tries again where the session knows how. */
export function wrapModel(
  base: CallableModel,
  { session, conversation, onCall }: WrapOptions,
): CallableModel {
  async function send<T>(call: ModelCall, attempt: (call: ModelCall) => Promise<Attempt<T>>): Promise<T> {
    onCall(call);
    for (;;) {
      const made = await attempt(await requestFor(call));
      if (!isWorthAnotherTry(made)) return made.settle();
      await made.discard();
    }
  }

  async function requestFor(call: ModelCall): Promise<ModelCall> {
    const { abortSignal, tools } = call;
    const { wire, action } = await conversation.prepare(call.prompt, {
      ...(abortSignal && { signal: abortSignal }),
      toolsChars: tools === undefined ? 0 : safeJson(tools).length,
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
      const isEmpty = isEmptyContent(fields(result).content);
      if (!isEmpty) conversation.answered(facts);
      return {
        end: isEmpty ? { type: "nothing", facts } : { type: "answer" },
        settle: () => result,
        discard: async () => undefined,
      };
    } catch (error) {
      return { end: { type: "error", error }, settle: () => reject(error), discard: async () => undefined };
    }
  }

  async function stream(call: ModelCall): Promise<Attempt<unknown>> {
    try {
      const result = fields(await base.doStream(call));
      const held = await holdStream(result.stream as ReadableStream<unknown>, {
        onFinish: conversation.answered,
        onLateError: (error) => void session.onProviderError(error, { provider: base.provider }),
      });
      return {
        end: held.end,
        settle: () => ({ ...result, stream: held.release() }),
        discard: held.cancel,
      };
    } catch (error) {
      return { end: { type: "error", error }, settle: () => reject(error), discard: async () => undefined };
    }
  }

  return {
    specificationVersion: base.specificationVersion,
    provider: base.provider,
    modelId: base.modelId,
    get supportedUrls() {
      return base.supportedUrls;
    },
    doGenerate: (call) => send(call, generate),
    doStream: (call) => send(call, stream),
  };
}

export interface WrapOptions {
  readonly session: Session;
  readonly conversation: Conversation;
  /** Told about every call as it comes in. */
  readonly onCall: (call: ModelCall) => void;
}

/** One request that was sent: how it ended, and how to go on with it or to leave it. */
interface Attempt<T> {
  readonly end: AttemptEnd;
  /** What the caller gets of it: the answer, or the error as it was. */
  settle(): T;
  discard(): Promise<void>;
}

function reject(error: unknown): never {
  throw error;
}
