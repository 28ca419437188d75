import type { ModelMessage } from "ai";
import { callWithin } from "../../compaction/ports/call-within.ts";
import type { Clock } from "../../compaction/ports/clock.ts";
import type { AiSdkWire } from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { WarningCode } from "../../session/log.ts";
import type { SessionState } from "../../session/state.ts";

/** What to persist: either beside all messages, the state, or in place of all messages, those that are left. */
export interface CompactedConversation {
  readonly state: SessionState;
  readonly messages: readonly ModelMessage[];
  /** Of a conversation that `for` gave. */
  readonly id?: string;
}

/** Hands what to persist over to `onCompact`, which may throw or hang, when there is something new. */
export interface HandOver {
  /** The window was edited. */
  edited(): void;
  /** Resolves when it was handed over, or could not be within the limit. */
  now(): Promise<void>;
}

/** Nothing to hand over yet. */
export function createHandOver({ onCompact, changed, clock, onWarning }: HandOverPorts): HandOver {
  let isEdited = false;
  return {
    edited() {
      isEdited = true;
    },

    async now() {
      if (!isEdited || onCompact === undefined) return;
      isEdited = false;
      const given = changed();
      const result = await callWithin({ start: async () => onCompact(given), limitMs: LIMIT_MS, clock });
      if (result.status === "done") return;
      // The next request hands over what one that failed did not keep; one that hangs may still keep it.
      isEdited ||= result.status === "failed";
      const why = result.status === "failed" ? `threw: ${String(result.error)}` : "did not end in time";
      onWarning("not-persisted", `onCompact ${why}`);
    },
  };
}

interface HandOverPorts {
  readonly onCompact: ((changed: CompactedConversation) => void | Promise<void>) | undefined;
  readonly changed: () => CompactedConversation;
  readonly clock: Clock;
  readonly onWarning: (code: WarningCode, message: string) => void;
}

/** How long a request waits for it. */
const LIMIT_MS = 10_000;

/** The messages as an application keeps them: without the system prompt. */
export function withoutSystem(wire: AiSdkWire): readonly ModelMessage[] {
  return wire.filter(({ role }) => role !== "system") as unknown as readonly ModelMessage[];
}
