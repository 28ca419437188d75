import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import { aiSdk } from "../../formats/wires/ai-sdk/ai-sdk.ts";
import { type CallableModel, likeModel, type ModelCall, modelRef } from "../../middleware/language-model.ts";
import type { WarningCode } from "../../session/events.ts";
import { safeJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import { lineOf, type RequestRecognizer } from "./recognize-request.ts";

/**
 * The model of a conversation, for an app that also uses it for something else, such as titles. Requests of others are sent
 * as they came and do not change the conversation. One that is too long for the window gets a session of its own.
 */
export function serveOthers(own: CallableModel, base: CallableModel, options: OthersOptions): CallableModel {
  const { recognizer, limitTokens, openOther, onWarning } = options;
  let isTold = false;
  const managed = createLruMap<string, CallableModel>(MAX_MANAGED);

  async function send(call: ModelCall, method: "doGenerate" | "doStream"): Promise<unknown> {
    if (recognizer.isOwn(call)) return own[method](call);
    if (recognizer.isBegun() && !isTold) {
      isTold = true;
      onWarning(
        "other-conversation",
        "A request has nothing in common with this conversation and was sent as it came. Sub-agents and titles take for(id).",
      );
    }
    const line = lineOf(call.prompt);
    if (managed.get(line) === undefined && fits(call)) {
      try {
        return await base[method](call);
      } catch (error) {
        if (!classifyProviderError(error, { provider: base.provider }).isOverflow) throw error;
      }
    }
    const other = managed.get(line) ?? openOther();
    managed.set(line, other);
    return other[method](call);
  }

  function fits({ prompt, tools = [] }: ModelCall): boolean {
    const { tokens } = estimateContextTokens(aiSdk.decode(prompt), {
      estimator: "calibrated",
      toolsChars: safeJson(tools).length,
      model: modelRef(base),
    });
    return tokens < limitTokens();
  }

  return likeModel(() => own, {
    doGenerate: (call) => send(call, "doGenerate"),
    doStream: (call) => send(call, "doStream"),
  });
}

interface OthersOptions {
  readonly recognizer: RequestRecognizer;
  /** The size at which the conversation is compacted. */
  readonly limitTokens: () => number;
  /** The model with a new session in front of it. */
  readonly openOther: () => CallableModel;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** Sessions for long requests of others that are kept at once. */
const MAX_MANAGED = 8;
