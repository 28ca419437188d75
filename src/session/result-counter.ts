import { hasOnlyStub } from "../compaction/tool-summary-archive.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../stages/graduated-tiers.ts";
import type { Message } from "../transcript/message.ts";
import type { Part } from "../transcript/part.ts";
import { isCleared } from "../transcript/tool-results.ts";
import { reachesModel } from "../transcript/visibility.ts";
import type { Window } from "./window.ts";

/** Counts the tool results of a window that weigh on it, without walking the window again for each message. */
export interface ResultCounter {
  /** Results of which the model sees more than a line. */
  visibleResults(): number;
  /** Those of them that the model has answered. */
  answeredResults(): number;
}

/** A counter of a window. */
export function createResultCounter(
  window: Window,
  protectedTools: readonly string[] = FORK_NO_TRUNCATION_TOOLS,
): ResultCounter {
  const names = protectedTools.map((name) => name.toLowerCase());
  let version = -1;
  let count = 0;
  let visible = 0;
  let answered = 0;

  function isCounted(part: Part): boolean {
    if (part.type !== "tool" || !reachesModel(part) || part.callMissing) return false;
    if (part.outcome.status === "pending" || isCleared(part) || hasOnlyStub(part)) return false;
    const tool = part.tool.toLowerCase();
    return !names.some((name) => tool.includes(name));
  }

  function upToDate(): void {
    if (version !== window.version()) {
      version = window.version();
      count = 0;
      visible = 0;
      answered = 0;
    }
    const marked = window.marked();
    for (; count < marked.length; count++) {
      const message = marked[count];
      if (message === undefined) continue;
      if (isAnswer(message)) answered = visible;
      for (const part of message.parts) if (isCounted(part)) visible++;
    }
  }

  return {
    visibleResults() {
      upToDate();
      return visible;
    },
    answeredResults() {
      upToDate();
      return answered;
    },
  };
}

function isAnswer({ role, summary, parts }: Message): boolean {
  return role === "assistant" && !summary && parts.some(reachesModel);
}
