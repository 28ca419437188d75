import type { ModelMessage } from "ai";
import { callWithin } from "../../compaction/ports/call-within.ts";
import type { Clock } from "../../compaction/ports/summarizer.ts";
import { errorText } from "../../compaction/summary/text.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { WarningCode } from "../../session/events.ts";
import type { StoredState } from "../../session/stored-state.ts";

/**
 * Gives what to persist to `onCompact` before the next request, again until it has taken the newest. What throws or hangs
 * fails no request, and what hangs holds up one request in all.
 */
export function createHandOver({ onCompact, changed, clock, onWarning }: HandOverPorts): HandOver {
  let newest = 0;
  /** The number of what was taken last. It can fall: an old call that ends late may have overwritten a newer state. */
  let taken = 0;
  let isTold = false;
  /** False after a call that did not end in time, until one does. */
  let isWaitedFor = true;

  function warn(why: string): void {
    if (!isTold) onWarning("not-persisted", `onCompact ${why}`);
    isTold = true;
  }

  return {
    edited() {
      newest++;
    },

    async now() {
      if (taken === newest || onCompact === undefined) return;
      const [given, number, startedAt] = [changed(), newest, clock.now()];
      let isAnswered = false;
      const answered = (): void => {
        isAnswered = true;
        if (clock.now() - startedAt <= LIMIT_MS) isWaitedFor = true;
      };
      const work = (async () => onCompact(given))().then(
        () => {
          answered();
          taken = number;
          isTold = false;
        },
        (error: unknown) => {
          answered();
          warn(`threw: ${errorText(error)}`);
        },
      );
      if (!isWaitedFor) return;
      await callWithin({ start: () => work, limitMs: LIMIT_MS, clock });
      isWaitedFor = isAnswered;
      if (!isAnswered) warn("did not end in time");
    },
  };
}

interface HandOver {
  /** The window was edited. */
  edited(): void;
  /** Resolves when `onCompact` has ended, or is not waited for. */
  now(): Promise<void>;
}

interface HandOverPorts {
  readonly onCompact: ((changed: CompactedConversation) => void | Promise<void>) | undefined;
  readonly changed: () => CompactedConversation;
  readonly clock: Clock;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** How long one request waits for it. */
const LIMIT_MS = 2_000;

/** The messages as an application keeps them: without the system prompt. */
export function withoutSystem(wire: AiSdkWire): readonly ModelMessage[] {
  return wire.filter(({ role }) => role !== "system") as unknown as readonly ModelMessage[];
}

/** What to persist: either beside all messages, the state, or in place of all messages, those that are left. */
export interface CompactedConversation {
  readonly state: StoredState;
  readonly messages: readonly ModelMessage[];
  /** Of a conversation that `for` gave. */
  readonly id?: string;
}
