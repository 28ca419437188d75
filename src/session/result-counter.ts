import type { Pin } from "../compaction/pins.ts";
import { createResultTest, isAnswer } from "../compaction/tool-summary-results.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../stages/graduated-tiers.ts";
import type { Message } from "../transcript/message.ts";
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
export function createResultCounter(window: Window, pins: readonly Pin[]): ResultCounter {
  const mayBeArchived = createResultTest({ protectedTools: FORK_NO_TRUNCATION_TOOLS, pins });
  let version = -1;
  let count = 0;
  let visible = 0;
  let answered = 0;

  function isCounted(message: Message, partIndex: number): boolean {
    const part = message.parts[partIndex];
    if (part?.type !== "tool" || !reachesModel(part) || part.callMissing) return false;
    return part.outcome.status !== "pending" && mayBeArchived(message, partIndex, part);
  }

  function upToDate(): void {
    if (version !== window.version()) {
      version = window.version();
      count = 0;
      visible = 0;
      answered = 0;
    }
    const marked = window.marked();
    for (; count < window.settledCount(); count++) {
      const message = marked[count];
      if (message === undefined) continue;
      if (isAnswer(message)) answered = visible;
      visible += countedIn(message);
    }
  }

  function countedIn(message: Message): number {
    let counted = 0;
    for (const partIndex of message.parts.keys()) if (isCounted(message, partIndex)) counted++;
    return counted;
  }

  /** The newest message while it may still be replaced. */
  function open(): Message | undefined {
    return window.marked()[window.settledCount()];
  }

  return {
    visibleResults() {
      upToDate();
      const message = open();
      return message === undefined ? visible : visible + countedIn(message);
    },
    answeredResults() {
      upToDate();
      const message = open();
      return message !== undefined && isAnswer(message) ? visible : answered;
    },
  };
}
