import { isFinished } from "../../fork/life/check-child.ts";
import { deliveryIdsIn } from "../../fork/life/notice.ts";
import { outcomeText } from "../../transcript/content.ts";
import { isNameOfCall, type Message, type Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import { HOST_CALL_MS } from "../host/agent-host.ts";
import { isOwnTool } from "../window/trim-output.ts";

/** How far a result has got among the stored messages of its parent; `in-flight` while its carrier may not be stored yet. */
export function findDelivery(
  transcript: Transcript,
  { delivery, handover, nowMs }: WantedDelivery,
): "answered" | "seen" | "absent" | "in-flight" {
  const index = transcript.findIndex(({ parts }) => parts.some((part) => holds(part, delivery)));
  if (index !== -1) return transcript.slice(index).some(isFinalAnswer) ? "answered" : "seen";
  const mayStillCome = handover !== undefined && nowMs - handover.atMs < HOST_CALL_MS;
  return mayStillCome && !isStored(transcript, handover.carrier) ? "in-flight" : "absent";
}

interface WantedDelivery {
  /** Its delivery id. */
  readonly delivery: string;
  /** Unset for a result that another program has sent. */
  readonly handover?: Handover;
  readonly nowMs: number;
}

/** What a result was given to, and when. */
export interface Handover {
  readonly carrier: Carrier;
  readonly atMs: number;
}

function isStored(transcript: Transcript, carrier: Carrier): boolean {
  const isAnyPart = (test: (part: Part) => boolean): boolean =>
    transcript.some(({ parts }) => parts.some(test));
  switch (carrier.type) {
    case "message":
      return transcript.some(({ id }) => id === carrier.messageId);
    case "tool":
      return isEnded(transcript, carrier.callId);
    case "own-tool":
      return !isAnyPart((part) => part.type === "tool" && isOwnTool(part.tool) && isRunning(part));
  }
}

/** Servers give one id to many calls: none of those may be running. */
function isEnded(transcript: Transcript, callId: string): boolean {
  const calls = transcript.flatMap(({ parts }) =>
    parts.filter((part) => part.type === "tool" && isNameOfCall(part.callId, callId)),
  );
  return calls.length > 0 && !calls.some(isRunning);
}

function isRunning(part: Part): boolean {
  return part.type === "tool" && part.outcome.status === "pending";
}

function holds(part: Part, delivery: string): boolean {
  const text = part.type === "text" ? part.text : part.type === "tool" ? outcomeText(part.outcome) : "";
  return text.includes(delivery) && deliveryIdsIn(text).includes(delivery);
}

function isFinalAnswer(message: Message): boolean {
  const { role, summary, error } = message;
  return role === "assistant" && !summary && !error && isFinished(message);
}

/** What brings a result into a session. */
export type Carrier =
  | { readonly type: "tool"; readonly callId: string }
  | { readonly type: "message"; readonly messageId: string }
  /** A tool of ours that gives results as its own output. */
  | { readonly type: "own-tool" };
