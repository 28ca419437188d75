import { asArray, asObject, asString, type UnknownObject } from "../../../../src/text/unknown-value.ts";
import {
  bindsThinking,
  createThinkingCheck,
  type InputTransformation,
  type Signatures,
} from "../../bound-thinking/bound-thinking.ts";
import type { Refusal, Reply } from "../step.ts";
import { findMissingSignature } from "../strict/strict-gemini.ts";
import type { Wire } from "../wire.ts";
import { createBoundReasoning } from "./bound-reasoning.ts";

/** What a provider does with the thoughts that a client sends back, by the rules of each wire's newest models. */
export interface ThinkingRules {
  receive(request: ThinkingRequest): ReceivedThoughts;
  /** Plays something with the rules of another mode, as if the account were another. */
  within<T>(mode: ThinkingMode, play: () => Promise<T>): Promise<T>;
  /** The refusals because of a thought since they were last taken, in the provider's words. */
  takeRefusals(): readonly string[];
  /** Every thought that the model did not get although nothing was refused: where it stood, and why. */
  readonly dropped: readonly string[];
}

export interface ThinkingRequest {
  readonly wire: Wire["name"];
  readonly model: string;
  readonly body: UnknownObject;
  /** The header `anthropic-beta`. */
  readonly beta?: string | undefined;
}

/** A refusal, or how the answer goes on. */
export type ReceivedThoughts = Refusal | TakenThoughts;

export interface TakenThoughts {
  readonly type: "taken";
  /** The reasoning of an answer whose script has none; unset where the model does not always think. */
  readonly reasoning?: string;
  /** Signs what the model answers. */
  readonly sign?: SignContent;
  readonly inputTransformations?: readonly InputTransformation[];
}

export type SignContent = <Block extends UnknownObject>(content: readonly Block[]) => readonly Block[];

/**
 * `free`: as `bound`, but Claude takes thoughts that are bound to another conversation, as it does for old accounts, and
 * DeepSeek and Kimi do without theirs.
 */
export type ThinkingMode = "bound" | "free";

/** Rules of a provider that has not answered yet; a refusal that is the client's own doing is not kept. */
export function createThinkingRules(
  first: ThinkingMode = "bound",
  isOwnRefusal: (request: ThinkingRequest) => boolean = () => false,
): ThinkingRules {
  const refusals: string[] = [];
  const dropped: string[] = [];
  const signatures: Signatures = new Map();
  const checks = {
    bound: createThinkingCheck({ account: "new", signatures }),
    free: createThinkingCheck({ account: "old", signatures }),
  };
  let mode = first;
  const reasoning = createBoundReasoning();

  function receive({ wire, model, body, beta }: ThinkingRequest): ReceivedThoughts {
    switch (wire) {
      case "anthropic": {
        const check = checks[mode];
        const isPreserved = bindsThinking(model);
        const seen = check.read(body, { beta, model, isPreserved });
        if (seen.status === 400) return { type: "refusal", status: 400, body: seen.error };
        dropped.push(...seen.dropped.map(({ path, reason }) => `${path}: ${reason}`));
        return {
          type: "taken",
          ...(isPreserved && { reasoning: "" }),
          sign: (content) => check.sign(seen, content),
          ...(seen.inputTransformations && { inputTransformations: seen.inputTransformations }),
        };
      }
      case "openai-responses": {
        const refused = reasoning.findRefusal(body);
        if (refused !== undefined) return openAiRefusal(refused);
        if (!/gpt-[6-9]/.test(model)) return TAKEN;
        dropped.push(...reasoning.findDropped(body));
        return { type: "taken", reasoning: "", sign: (items) => reasoning.sign(body, items) };
      }
      case "openai-chat": {
        if (!MUST_RESEND.test(model)) return TAKEN;
        const refused = mode === "bound" ? findMissingReasoning(body, model) : undefined;
        return refused === undefined ? { type: "taken", reasoning: "Hm." } : openAiRefusal(refused);
      }
      case "gemini": {
        if (!/gemini-[3-9]/.test(model)) return TAKEN;
        const message = findMissingSignature(body);
        if (message === undefined) return { type: "taken", reasoning: "" };
        return {
          type: "refusal",
          status: 400,
          body: { error: { code: 400, message, status: "INVALID_ARGUMENT" } },
        };
      }
      default:
        return wire satisfies never;
    }
  }

  return {
    takeRefusals: () => refusals.splice(0),
    dropped,
    async within(other, play) {
      const before = mode;
      mode = other;
      try {
        return await play();
      } finally {
        mode = before;
      }
    },
    receive(request) {
      const received = receive(request);
      if (received.type === "refusal" && !isOwnRefusal(request)) refusals.push(messageOf(received));
      return received;
    },
  };
}

const TAKEN: TakenThoughts = { type: "taken" };

/** The answer of a model that always thinks has a thought, scripted or not. */
export function withThought(reply: Reply, { reasoning }: TakenThoughts): Reply {
  if (reply.type !== "answer" || reasoning === undefined) return reply;
  return { reasoning, ...reply };
}

/** Models that want the thoughts of every turn with calls again. */
const MUST_RESEND = /deepseek-v[4-9]|kimi-k[2-9]/;

/** An empty text counts as sent. */
function findMissingReasoning({ messages }: UnknownObject, model: string): string | undefined {
  const index = asArray(messages)
    .map(asObject)
    .findIndex(
      ({ tool_calls: calls, reasoning_content: reasoning }) =>
        asArray(calls).length > 0 && asString(reasoning) === undefined,
    );
  if (index === -1) return undefined;
  return model.includes("kimi")
    ? `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`
    : "The `reasoning_content` in the thinking mode must be passed back to the API.";
}

function openAiRefusal(message: string): Refusal {
  const error = { message, type: "invalid_request_error", param: null, code: "invalid_request_error" };
  return { type: "refusal", status: 400, body: { error } };
}

function messageOf({ body }: Refusal): string {
  return String(asObject(asObject(body).error).message);
}
