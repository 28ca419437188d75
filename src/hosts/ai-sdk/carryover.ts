import type { ModelMessage, Tool } from "ai";
import type { AiSdkWire } from "../../formats/ai-sdk/ai-sdk-message.ts";
import type { Session } from "../../session/create-session.ts";
import type { SessionEvent } from "../../session/session-event.ts";
import { type CarryoverOptions, openSession } from "./carryover-options.ts";
import { createConversation } from "./conversation.ts";
import { callable, type LanguageModelLike, type ModelCall } from "./language-model.ts";
import { createPrepareStep, type PrepareStep } from "./prepare-step.ts";
import { createRecallTool, type RecallInput } from "./recall-tool.ts";
import { wrapModel } from "./wrap-model.ts";

/** What one conversation needs to stay within its model's window. */
export interface Carryover<Model extends LanguageModelLike> {
  /** Use it in place of the model: it bounds, prunes, compacts and recovers by itself. */
  readonly model: Model;
  /** Give these to the model too, so that it can read again what left its window. */
  readonly tools: { readonly recall: Tool<RecallInput, string> };
  /** For those who do not wrap the model: the same but for recovering. With the wrapped model it does nothing. */
  readonly prepareStep: PrepareStep;
  readonly session: Session;
}

/** Puts a session in front of a model of the AI SDK. One for each conversation: it remembers what it has done. */
export function carryover<Model extends LanguageModelLike>(
  base: Model,
  options: CarryoverOptions = {},
): Carryover<Model> {
  let headers: ModelCall["headers"];
  let isEdited = false;
  const emit = (event: SessionEvent): void => options.onEvent?.(event);
  const { session, clock } = openSession(base, options, {
    headers: () => headers,
    onEvent(event) {
      isEdited ||= event.type === "context_changed";
      emit(event);
    },
  });

  async function handOver(): Promise<void> {
    if (!isEdited || options.onCompact === undefined) return;
    isEdited = false;
    try {
      await options.onCompact({ state: session.toJSON(), messages: withoutSystem(conversation.window()) });
    } catch (error) {
      emit({ type: "warning", code: "not-persisted", message: `onCompact threw: ${String(error)}` });
    }
  }

  const conversation = createConversation(session, {
    clock,
    restore: options.restore,
    onPrepared: handOver,
  });
  const model = wrapModel(callable(base), {
    session,
    conversation,
    onCall(call) {
      headers = call.headers;
    },
  });
  return {
    model: model as unknown as Model,
    tools: { recall: createRecallTool(session) },
    prepareStep: createPrepareStep(conversation, model),
    session,
  };
}

function withoutSystem(wire: AiSdkWire): readonly ModelMessage[] {
  return wire.filter(({ role }) => role !== "system") as unknown as readonly ModelMessage[];
}
