import { asObject } from "../../../../src/text/unknown-value.ts";
import type { JudgedRequest, WireAnswer } from "../model-server.ts";
import type { Refusal } from "../step.ts";
import { findAnthropicRefusal } from "./strict-anthropic.ts";
import { findChatRefusal } from "./strict-chat.ts";
import { findGeminiRefusal } from "./strict-gemini.ts";
import { createResponsesRules } from "./strict-responses.ts";

/**
 * What a provider enforces before its model reads a request: pairing, order, alternation, stored items; what its thoughts are
 * bound to is checked by the thinking rules. Written
 * from what the providers answer, apart from the rules in `src`, so that the two can be held against each other.
 */
export interface StrictRules {
  /** The refusal of a request, in the provider's own words; undefined when it is taken. */
  refuse(request: Pick<JudgedRequest, "wire" | "model" | "body">): Refusal | undefined;
  /** Keeps what the provider stores of an answer. */
  remember(answer: WireAnswer): void;
}

/** Rules of a provider that has not answered yet. */
export function createStrictRules(): StrictRules {
  const responses = createResponsesRules();
  return {
    refuse({ wire, model, body }) {
      switch (wire) {
        case "anthropic": {
          const message = findAnthropicRefusal(body);
          return message === undefined
            ? undefined
            : refusal({ type: "error", error: { type: "invalid_request_error", message } });
        }
        case "gemini": {
          const message = findGeminiRefusal(body, model);
          return message === undefined
            ? undefined
            : refusal({ error: { code: 400, message, status: "INVALID_ARGUMENT" } });
        }
        case "openai-chat":
          return openAiRefusal(findChatRefusal(body), "messages");
        case "openai-responses":
          return openAiRefusal(responses.findRefusal(body), "input");
        default:
          return wire satisfies never;
      }
    },
    remember({ wire, body }) {
      if (wire === "openai-responses") responses.remember(asObject(body));
    },
  };
}

function refusal(body: unknown): Refusal {
  return { type: "refusal", status: 400, body };
}

function openAiRefusal(message: string | undefined, param: string): Refusal | undefined {
  if (message === undefined) return undefined;
  return refusal({ error: { message, type: "invalid_request_error", param, code: null } });
}
