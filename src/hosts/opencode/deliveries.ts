import { deliveryIdsIn } from "../../fork/life/notice.ts";
import type { SessionMessage, SessionPart } from "../../formats/wires/opencode/session-message.ts";
import { isOwnTool } from "../../plugin/window/bound-output.ts";
import { asNumber, asObject } from "../../text/json.ts";
import { CALL_MS } from "./calls.ts";
import { lastTurn, type TurnSettings } from "./sessions.ts";

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

interface WantedDelivery {
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
  const { status } = asObject(state);
  return status === "running" || status === "pending";
}

function holds({ parts }: SessionMessage, delivery: string): boolean {
  return parts.some((part) => {
    const text =
      part.type === "text" ? part.text : part.type === "tool" ? asObject(part.state).output : undefined;
    return typeof text === "string" && text.includes(delivery) && deliveryIdsIn(text).includes(delivery);
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

/** The messages without the results of forks that ride on tool outputs: a child is not told about its siblings. */
export function withoutDeliveries(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  return messages.map((message) =>
    message.parts.some((part) => deliverySpanOf(part) !== undefined)
      ? { ...message, parts: message.parts.map(withoutDelivery) }
      : message,
  );
}

/** Where a result of a fork stands in a tool output. */
interface DeliverySpan {
  readonly offset: number;
  readonly length: number;
}

function deliverySpanOf(part: SessionPart): DeliverySpan | undefined {
  const { ride } = asObject(asObject(asObject(part.state).metadata).carryover);
  const offset = asNumber(asObject(ride).offset);
  const length = asNumber(asObject(ride).length);
  return offset === undefined || length === undefined ? undefined : { offset, length };
}

function withoutDelivery(part: SessionPart): SessionPart {
  const ride = deliverySpanOf(part);
  const state = asObject(part.state);
  if (ride === undefined || typeof state.output !== "string") return part;
  const output = state.output.slice(0, ride.offset) + state.output.slice(ride.offset + ride.length);
  return { ...part, state: { ...state, output } };
}

/** The settings of the newest turn that a person began; of any turn where there is none. */
export function lastUserTurn(messages: readonly SessionMessage[]): TurnSettings {
  const spoken = messages.filter(
    ({ info, parts }) =>
      info.role === "user" && parts.some((part) => part.type === "text" && part.synthetic !== true),
  );
  return lastTurn(spoken.length === 0 ? messages : spoken);
}
