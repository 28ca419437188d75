import type { ModelMessage } from "ai";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import { answerFacts } from "../../middleware/answer.ts";
import type { Conversation } from "../../middleware/conversation.ts";
import { assumeManagement } from "../../middleware/provider-management.ts";
import { GiveUpError } from "../../middleware/wrap-model.ts";
import { asObject } from "../../text/unknown-value.ts";

/** Prepares the messages of each step, unless the step's model is the wrapped one, which does so itself. */
export function createPrepareStep(conversation: Conversation, wrapped: unknown): PrepareStep {
  let given: AiSdkWire = [];
  let sent: AiSdkWire = [];
  return async ({ model, messages, steps }) => {
    if (model === wrapped) return undefined;
    const newest = steps.at(-1);
    if (newest !== undefined) conversation.recordAnswer(answerFacts(newest));
    given = wholeOf(messages as unknown as AiSdkWire);
    const management = assumeManagement(model, given, asObject(newest).providerMetadata);
    const { wire, action } = await conversation.prepare(given, { management });
    if (action.type === "give-up") throw new GiveUpError(action);
    sent = wire;
    return { messages: wire as unknown as ModelMessage[] };
  };

  /** `ai` 7 continues with the messages that we returned for the last step: here the original ones take their place again. */
  function wholeOf(messages: AiSdkWire): AiSdkWire {
    const isContinued =
      sent.length > 0 && sent !== given && sent.every((message, index) => messages[index] === message);
    return isContinued ? [...given, ...messages.slice(sent.length)] : messages;
  }
}

/** As `generateText`, `streamText` and agents call it before every step. */
export type PrepareStep = (step: StepToPrepare) => Promise<{ messages: ModelMessage[] } | undefined>;

/** What the AI SDK gives to `prepareStep`. */
export interface StepToPrepare {
  readonly model: unknown;
  readonly messages: readonly ModelMessage[];
  readonly steps: readonly unknown[];
}
