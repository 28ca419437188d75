import type {
  AskingCall,
  ChildPrompt,
  DeliveryWay,
  ForkError,
  ForkOwner,
  ForkRecord,
  ForkRun,
} from "./record.ts";

/**
 * Something that happened to a fork. Events that answer an action name its run; events from the child do not, since a
 * host does not know the run. Any event may come twice, late, or never.
 */
export type ForkEvent = { readonly atMs: number } & (
  | StartEvent
  | ChildEvent
  | ControlEvent
  | OwnerEvent
  | DeliveryEvent
  | UndoEvent
);

/** The events of one type. */
export type EventOf<Type extends ForkEvent["type"]> = Extract<ForkEvent, { readonly type: Type }>;

/** Events of a run from the queue to its first prompt. */
type StartEvent =
  /** `nextToStart` gave this fork a slot. */
  | { readonly type: "slot-given" }
  | { readonly type: "child-created"; readonly run: number; readonly childSessionId: string }
  | { readonly type: "child-refused"; readonly run: number; readonly error: ForkError }
  | {
      readonly type: "prompt-accepted";
      readonly run: number;
      readonly prompt: number;
      readonly messageId: string;
    }
  /** Also for a host call that returned an error instead of throwing one. */
  | {
      readonly type: "prompt-refused";
      readonly run: number;
      readonly prompt: number;
      readonly error: ForkError;
    };

/** Events of the child session. */
type ChildEvent =
  | { readonly type: "status"; readonly status: "busy" | "retry" | "idle" }
  | { readonly type: "child-failed"; readonly error: ForkError }
  | { readonly type: "child-deleted" }
  /** `calls`: how many calls of the run the child's session holds, for a run whose own count may be behind. */
  | {
      readonly type: "child-checked";
      readonly run: number;
      readonly finding: ChildFinding;
      readonly calls?: number;
    }
  /** The answer to `abort-child`: the child has stopped, with this last text. */
  | {
      readonly type: "child-stopped";
      readonly run: number;
      readonly text: string;
      readonly changedFiles: readonly string[];
    }
  /** A request of the child is about to be sent; `answered` is its newest finished answer. */
  | { readonly type: "request-started"; readonly answered: string | undefined }
  /** `hash` is the same for the same tool with the same input. */
  | { readonly type: "tool-called"; readonly callId: string; readonly hash: string }
  /** Totals of the child session. */
  | { readonly type: "spent"; readonly costUSD: number; readonly tokens: number; readonly steps: number }
  | { readonly type: "root-cost-reached" }
  | { readonly type: "permission-asked"; readonly askId: string; readonly what?: string }
  | { readonly type: "permission-answered"; readonly askId: string };

/** The result of `checkChild`. */
export type ChildFinding =
  | ({ readonly type: "finished"; readonly text: string } & ChildOutput)
  | ({ readonly type: "failed"; readonly error: ForkError } & ChildOutput)
  | { readonly type: "working" }
  /** Idle, without a finished answer to our last prompt. */
  | ({ readonly type: "stopped" } & ChildOutput)
  /** Idle, and our prompt was not found. */
  | { readonly type: "unprompted" }
  | { readonly type: "missing" };

/** The last text that the child wrote, and the files it changed. */
export interface ChildOutput {
  readonly lastText: string;
  readonly changedFiles: readonly string[];
}

/** Requests of users and parents. */
type ControlEvent =
  | { readonly type: "cancel-asked"; readonly reason: string }
  /** A further prompt for a live run, or the next run of an ended one. */
  | {
      readonly type: "resume-asked";
      readonly task: string;
      readonly requestId: string;
      readonly askedBy?: AskingCall;
    }
  | { readonly type: "parent-aborted" }
  | { readonly type: "parent-deleted" };

/** Time, and the ownership of the record. */
type OwnerEvent =
  | { readonly type: "tick" }
  /** The old owner is gone (`canAdopt`). The only event that an instance may report of a fork it does not own. */
  | {
      readonly type: "adopted";
      readonly owner: ForkOwner;
      /** The instance that is gone; a fork that another instance has adopted meanwhile stays with that one. */
      readonly fromInstanceId?: string;
    }
  /** This program exits in an orderly way. */
  | { readonly type: "owner-leaving" };

/** Events of the delivery of a result. */
export type DeliveryEvent =
  /** Stored before the result is sent. */
  | { readonly type: "delivery-sent"; readonly run: number; readonly way: DeliveryWay }
  /** The delivery id was found in the parent's messages. */
  | { readonly type: "delivery-seen"; readonly run: number }
  /** The delivery id was not found, and nothing is being sent. */
  | { readonly type: "delivery-absent"; readonly run: number }
  | { readonly type: "delivery-reminded"; readonly run: number }
  /** No answer after the reminder either. */
  | { readonly type: "delivery-unanswered"; readonly run: number }
  /** The parent has finished an answer after it. */
  | { readonly type: "delivery-answered"; readonly run: number }
  /** The host did not take it, since the user may restore messages: nothing was sent. */
  | { readonly type: "delivery-refused"; readonly run: number };

/** The user took messages of the parent back: the one that asked for a run, or the one that brought its result. */
export type UndoEvent =
  /** It may be restored. */
  | { readonly type: "launch-undone"; readonly run: number }
  | { readonly type: "delivery-undone"; readonly run: number }
  /** The user restored it. */
  | { readonly type: "launch-restored"; readonly run: number }
  | { readonly type: "delivery-restored"; readonly run: number }
  /** The user went on without it. */
  | { readonly type: "launch-gone"; readonly run: number }
  | { readonly type: "delivery-gone"; readonly run: number };

/**
 * An action for the host to perform after the record is stored. One that is lost is requested again by a later tick.
 */
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
  /** The text goes on from the name of the fork: "started". */
  | { readonly type: "toast"; readonly tone: "info" | "success" | "warning"; readonly text: string };

/** A record after one event, and what the host is to do about it. */
export interface ForkStep {
  readonly record: ForkRecord;
  readonly actions: readonly ForkAction[];
}

/** The same record without an action. */
export function unchanged(record: ForkRecord): ForkStep {
  return { record, actions: [] };
}

/** The record with its newest run replaced, and actions. */
export function changeRun(record: ForkRecord, run: ForkRun, ...actions: readonly ForkAction[]): ForkStep {
  if (record.runs.at(-1) === run) return { record, actions };
  return { record: { ...record, runs: [...record.runs.slice(0, -1), run] }, actions };
}

/** An object without some of its fields. */
export function withoutKeys<T extends object, K extends keyof T>(
  value: T,
  ...keys: readonly K[]
): Omit<T, K> {
  const rest: Partial<T> = { ...value };
  for (const key of keys) delete rest[key];
  return rest as Omit<T, K>;
}
