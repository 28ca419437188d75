import { fields } from "../../../formats/fields.ts";
import type { SessionMessage, SessionPart } from "../../../formats/opencode/session-message.ts";
import { deliveriesIn } from "../../../tasks/result-notice.ts";
import { CALL_MS } from "../host-calls.ts";
import { isOwnTool } from "../own-tools.ts";

/** How far a result has got among the messages of its parent; `in-flight` while what carries it may not be stored yet. */
export function findDelivery(
  messages: readonly SessionMessage[],
  { delivery, carrier, nowMs }: WantedDelivery,
): "answered" | "seen" | "absent" | "in-flight" {
  const index = messages.findIndex((message) => holds(message, delivery));
  if (index !== -1) return messages.slice(index).some(isFinishedAnswer) ? "answered" : "seen";
  const mayStillCome = carrier !== undefined && nowMs - carrier.atMs < CALL_MS;
  return mayStillCome && !isStored(messages, carrier.thing) ? "in-flight" : "absent";
}

export interface WantedDelivery {
  readonly delivery: string;
  /** Unset for what somebody else has sent. */
  readonly carrier?: Carrier;
  readonly nowMs: number;
}

/** What a result was given to, and when. */
export interface Carrier {
  readonly thing: Carrying;
  readonly atMs: number;
}

/** Something of the host that carries results, by the host's name for it. */
export type Carrying =
  | { readonly type: "tool"; readonly callId: string }
  | { readonly type: "message"; readonly messageId: string }
  /** A tool of ours that gives results as its own output. */
  | { readonly type: "own-tool" };

function isStored(messages: readonly SessionMessage[], thing: Carrying): boolean {
  const parts = messages.flatMap((message) => message.parts);
  switch (thing.type) {
    case "message":
      return messages.some(({ info }) => info.id === thing.messageId);
    case "tool":
      return parts.some((part) => part.callID === thing.callId && !isRunning(part));
    case "own-tool":
      return !parts.some((part) => isOwnTool(String(part.tool)) && isRunning(part));
  }
}

function isRunning({ state }: SessionPart): boolean {
  const { status } = fields(state);
  return status === "running" || status === "pending";
}

function holds({ parts }: SessionMessage, delivery: string): boolean {
  return parts.some((part) => {
    const text =
      part.type === "text" ? part.text : part.type === "tool" ? fields(part.state).output : undefined;
    return typeof text === "string" && text.includes(delivery) && deliveriesIn(text).includes(delivery);
  });
}

function isFinishedAnswer({ info }: SessionMessage): boolean {
  return (
    info.role === "assistant" &&
    info.summary !== true &&
    info.error === undefined &&
    info.finish !== undefined &&
    info.finish !== "tool-calls"
  );
}
