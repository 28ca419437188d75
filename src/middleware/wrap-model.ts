import type { GiveUp, GiveUpReason } from "../session/action.ts";
import type { WarningCode } from "../session/events.ts";
import type { Session } from "../session/session.ts";
import { safeJson } from "../text/json.ts";
import { asArray, asObject } from "../text/unknown-value.ts";
import { answerFacts, isEmptyContent } from "./answer.ts";
import type { Conversation } from "./conversation.ts";
import { type AttemptEnd, holdStream } from "./hold-stream.ts";
import { type CallableModel, likeModel, type ModelCall } from "./language-model.ts";
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

  return likeModel(() => base, {
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

/** Thrown when a request cannot be made to fit; says what was tried and what to do. `cause` is the provider's first error. */
export class GiveUpError extends Error {
  readonly code = "CARRYOVER_GIVE_UP" as const;
  readonly reason: GiveUpReason;

  constructor({ message, reason, error }: GiveUp) {
    super(message, { cause: error });
    this.name = "GiveUpError";
    this.reason = reason;
  }
}
