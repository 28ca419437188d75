import { type Edit, type EditReason, hidePart, type Stage } from "../../transcript/edit.ts";
import { isVisibleToModel } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";

/** Hides what is the parent's own business: its reasoning, hints of ours, text the model never saw, launches still in flight. */
export function omitForChild({ ownTools = FORK_OWN_TOOLS }: OmitForChildOptions = {}): Stage {
  return (transcript) => {
    const edits: Edit[] = [];
    for (const message of transcript) {
      if (!isVisibleToModel(message)) continue;
      for (const [partIndex, part] of message.parts.entries()) {
        const reason = part.agentVisible === false ? undefined : reasonToOmit(part, ownTools);
        if (reason === undefined) continue;
        edits.push(hidePart({ message, partIndex, part }, { stage: "omit-for-child", reason }));
      }
    }
    return edits;
  };
}

/** Options of `omitForChild`. */
export interface OmitForChildOptions {
  /** Tools that launch or watch children; their unfinished calls are not shown to a child. */
  readonly ownTools?: readonly string[];
}

/** The tools that launch or watch children by default. */
export const FORK_OWN_TOOLS: readonly string[] = ["fork", "fork_result", "fork_cancel", "recall"];

function reasonToOmit(part: Part, ownTools: readonly string[]): EditReason | undefined {
  if (part.type === "reasoning") return "reasoning";
  if (part.type === "text" && part.own) return "own-hint";
  if (part.type === "text" && part.ignored) return "ignored";
  if (part.type === "tool" && part.outcome.status === "pending" && ownTools.includes(part.tool))
    return "in-flight";
  return undefined;
}
