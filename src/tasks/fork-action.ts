import type { ChildPrompt } from "./fork-record.ts";

/** One thing for the host to do, after the record is stored. A lost one is asked for again by a later tick. */
export type ForkAction =
  /** From the second attempt on, first look for a child whose metadata names this fork. Answer: child-created or child-refused. */
  | { readonly type: "create-child"; readonly run: number; readonly attempt: number }
  /** Store `key` with the message; from the second attempt on, look for it first. Answer: prompt-accepted or prompt-refused. */
  | {
      readonly type: "send-prompt";
      readonly run: number;
      readonly prompt: ChildPrompt;
      readonly key: string;
      readonly attempt: number;
    }
  /** Cheap: ask the host for the session's status only. Answer: status. */
  | { readonly type: "look-at-status" }
  /** Read the child's last messages. `messageId` is our newest prompt that was accepted, `key` its name. Answer: child-checked. */
  | { readonly type: "check-child"; readonly run: number; readonly messageId?: string; readonly key: string }
  /** Answer: child-stopped, with the last text and the changed files. */
  | { readonly type: "abort-child"; readonly run: number }
  | { readonly type: "reject-permission"; readonly askId: string; readonly reason: string }
  /** Slots or the queue changed: ask `nextToStart`, now or at the given time. */
  | { readonly type: "fill-slots"; readonly notBeforeMs?: number }
  /** A result waits: ask `planDelivery` for this parent. */
  | { readonly type: "plan-delivery"; readonly parentSessionId: string }
  | { readonly type: "toast"; readonly tone: "info" | "success" | "warning"; readonly text: string };
