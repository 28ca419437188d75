import { modelFacts } from "../../models/model-facts.ts";
import { listOf, readOptions, type Shape, text, withDefault } from "../../text/check.ts";
import { type Edit, type EditReason, hidePart, type Stage } from "../../transcript/edit.ts";
import { isVisibleToModel, MODEL_RULE, type ModelRef } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { FORK_OWN_TOOLS } from "./options.ts";

/** Hides what is the parent's own business: its reasoning, hints of ours, text the model never saw, launches still in flight. */
export function omitForChild(options: OmitForChildOptions = {}): Stage {
  const { ownTools, model } = readOptions(OMIT_SHAPE, options);
  return (transcript) => {
    const edits: Edit[] = [];
    const reader = model ?? transcript.findLast((message) => message.model !== undefined)?.model ?? {};
    const isRefused = modelFacts(reader).afterEdit === "refused";
    for (const message of transcript) {
      if (!isVisibleToModel(message)) continue;
      for (const [partIndex, part] of message.parts.entries()) {
        const reason = part.agentVisible === false ? undefined : reasonToOmit(part, ownTools);
        if (reason === undefined) continue;
        const what = part.type === "reasoning" && isRefused ? "thought" : "part";
        edits.push(hidePart({ message, partIndex, part }, { what, stage: "omit-for-child", reason }));
      }
    }
    return edits;
  };
}

/** Options of `omitForChild`. */
export interface OmitForChildOptions {
  /**
   * Tools that launch or watch children; their unfinished calls are not shown to a child.
   * @default fork, fork_result, fork_cancel, recall
   */
  readonly ownTools?: readonly string[];
  /** The model that the child asks, which may refuse thoughts of the parent. @default the newest in the messages */
  readonly model?: ModelRef;
}

const OMIT_SHAPE: Shape<OmitForChildOptions, "ownTools"> = {
  ownTools: withDefault(listOf(text), FORK_OWN_TOOLS),
  model: MODEL_RULE,
};

function reasonToOmit(part: Part, ownTools: readonly string[]): EditReason | undefined {
  if (part.type === "reasoning") return "reasoning";
  if (part.type === "text" && part.own) return "own-hint";
  if (part.type === "text" && part.ignored) return "ignored";
  if (part.type === "tool" && part.outcome.status === "pending" && ownTools.includes(part.tool))
    return "in-flight";
  return undefined;
}
