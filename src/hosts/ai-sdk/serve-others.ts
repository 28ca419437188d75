import { classifyProviderError } from "../../compaction/provider-errors/classify-provider-error.ts";
import { aiSdk } from "../../formats/wires/ai-sdk/ai-sdk.ts";
import { type CallableModel, likeModel, type ModelCall } from "../../middleware/language-model.ts";
import type { WarningCode } from "../../session/events.ts";
import { safeJson } from "../../text/json.ts";
import { estimateContextTokens } from "../../transcript/estimate-context.ts";
import { lineOf, type RequestRecognizer } from "./recognize-request.ts";

/**
 * The model of a conversation that also serves requests of others: they are sent as they came and leave the conversation
 * alone. One that is too long for the window gets a session of its own.
 */
export function serveOthers(own: CallableModel, base: CallableModel, options: OthersOptions): CallableModel {
  const { recognizer, limitTokens, openOther, onWarning } = options;
  let isTold = false;
  const managed = new Map<string, CallableModel>();

  async function send(call: ModelCall, method: "doGenerate" | "doStream"): Promise<unknown> {
    if (recognizer.isOwn(call)) return own[method](call);
    if (recognizer.isBegun()) tellOnce();
    const line = lineOf(call.prompt);
    if (!managed.has(line) && fits(call)) {
      try {
        return await base[method](call);
      } catch (error) {
        if (!classifyProviderError(error, { provider: base.provider }).isOverflow) throw error;
      }
    }
    return managedFor(line)[method](call);
  }

  function tellOnce(): void {
    if (isTold) return;
    isTold = true;
    onWarning(
      "other-conversation",
      "A request has nothing in common with this conversation and was sent as it came. Sub-agents and titles take for(id).",
    );
  }

  function fits({ prompt, tools = [] }: ModelCall): boolean {
    const toolsChars = safeJson(tools).length;
    const model = { provider: base.provider, id: base.modelId };
    const { tokens } = estimateContextTokens(aiSdk.decode(prompt), {
      estimator: "calibrated",
      toolsChars,
      model,
    });
    return tokens < limitTokens();
  }

  function managedFor(line: string): CallableModel {
    const known = managed.get(line) ?? openOther();
    managed.delete(line);
    managed.set(line, known);
    for (const oldest of managed.keys()) if (managed.size > MAX_MANAGED) managed.delete(oldest);
    return known;
  }

  return likeModel(() => own, {
    doGenerate: (call) => send(call, "doGenerate"),
    doStream: (call) => send(call, "doStream"),
  });
}

interface OthersOptions {
  readonly recognizer: RequestRecognizer;
  /** Where the window of the conversation is compacted. */
  readonly limitTokens: () => number;
  /** The model with a session of its own in front of it. */
  readonly openOther: () => CallableModel;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** Long requests of others that are looked after at once. */
const MAX_MANAGED = 8;
