import type { ModelMessage } from "ai";
import type { AiSdkWire } from "../../formats/ai-sdk/ai-sdk-message.ts";
import { answerFacts } from "./answer-facts.ts";
import type { Conversation } from "./conversation.ts";
import { GiveUpError } from "./give-up-error.ts";

/** As `generateText`, `streamText` and agents call it before every step. */
export type PrepareStep = (step: StepToPrepare) => Promise<{ messages: ModelMessage[] } | undefined>;

export interface StepToPrepare {
  readonly model: unknown;
  readonly messages: readonly ModelMessage[];
  readonly steps: readonly unknown[];
}

/** Prepares the messages of each step, unless the step's model is the wrapped one, which does so itself. */
export function createPrepareStep(conversation: Conversation, wrapped: unknown): PrepareStep {
  let given: AiSdkWire = [];
  let sent: AiSdkWire = [];
  return async ({ model, messages, steps }) => {
    if (model === wrapped) return undefined;
    const newest = steps.at(-1);
    if (newest !== undefined) conversation.answered(answerFacts(newest));
    given = wholeOf(messages as unknown as AiSdkWire);
    const { wire, action } = await conversation.prepare(given, {});
    if (action.type === "give-up") throw new GiveUpError(action);
    sent = wire;
    return { messages: wire as unknown as ModelMessage[] };
  };

  /** AI SDK 7 goes on with the messages that a step was given: what they stand for is put back before them. */
  function wholeOf(messages: AiSdkWire): AiSdkWire {
    const isContinued =
      sent.length > 0 && sent !== given && sent.every((message, index) => messages[index] === message);
    return isContinued ? [...given, ...messages.slice(sent.length)] : messages;
  }
}
