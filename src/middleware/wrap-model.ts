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

/** The model with a session in front of it: sends the session's window, and tries again where the session has made it smaller. */
export function wrapModel(
  base: CallableModel,
  { session, conversation, onCall, onWarning }: WrapOptions,
): CallableModel {
  const management = createManagementReader(base);
  let droppedBefore = 0;

  async function send(call: ModelCall, attempt: (call: ModelCall) => Promise<Attempt>): Promise<unknown> {
    for (;;) {
      const request = await requestFor(call);
      try {
        const { end, answer, discard } = await attempt(request);
        if (!isWorthAnotherTry(end)) return answer();
        await discard?.();
      } catch (error) {
        if (!isWorthAnotherTry({ type: "error", error })) throw error;
      }
    }
  }

  async function requestFor(call: ModelCall): Promise<ModelCall> {
    const { abortSignal, tools } = call;
    const { wire, action } = await conversation.prepare(call.prompt, {
      signal: abortSignal,
      toolsChars: tools === undefined ? 0 : safeJson(tools).length,
      management: management.of(call),
    });
    abortSignal?.throwIfAborted();
    if (action.type === "give-up") throw new GiveUpError(action);
    const lowered = action.type === "lower-output" && { maxOutputTokens: action.maxOutputTokens };
    return { ...call, prompt: wire, ...lowered };
  }

  function isWorthAnotherTry(end: AttemptEnd): boolean {
    if (end.type === "answer") return false;
    if (end.type === "nothing") return session.onEmptyAnswer(end.facts) === "overflow";
    return session.onProviderError(end.error, { provider: base.provider }).recovery !== "none";
  }

  async function generate(call: ModelCall): Promise<Attempt> {
    const result = await base.doGenerate(call);
    const isEmpty = isEmptyContent(asObject(result).content);
    if (!isEmpty) recordAnswer(result);
    return {
      end: isEmpty ? { type: "nothing", facts: answerFacts(result) } : { type: "answer" },
      answer: () => result,
    };
  }

  async function stream(call: ModelCall): Promise<Attempt> {
    const result = asObject(await base.doStream(call));
    const held = await holdStream(result.stream as ReadableStream<unknown>, {
      onFinish: recordAnswer,
      onLateError: (error) => void session.onProviderError(error, { provider: base.provider }),
    });
    return {
      end: held.end,
      answer: () => ({ ...result, stream: held.release() }),
      discard: held.cancel,
    };
  }

  function recordAnswer(result: unknown): void {
    const { providerMetadata } = asObject(result);
    management.noteAnswer(providerMetadata);
    warnOfDroppedThoughts(providerMetadata);
    conversation.recordAnswer(answerFacts(result));
  }

  /** Anthropic lists the earlier thoughts that it did not read. The list comes again with each answer; what is new in it is told. */
  function warnOfDroppedThoughts(providerMetadata: unknown): void {
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

/** One request that was answered: how it ended, and how to use or discard its answer. */
interface Attempt {
  readonly end: AttemptEnd;
  readonly answer: () => unknown;
  readonly discard?: () => Promise<void>;
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
