import { fields, numberField } from "../../../formats/fields.ts";
import type { SessionMessage, SessionPart } from "../../../formats/opencode/session-message.ts";

/** The messages without the results of forks that ride on tool outputs: a child is not told about its siblings. */
export function withoutRides(messages: readonly SessionMessage[]): readonly SessionMessage[] {
  return messages.map((message) =>
    message.parts.some((part) => rideOf(part) !== undefined)
      ? { ...message, parts: message.parts.map(withoutRide) }
      : message,
  );
}

/** Where a result of a fork stands in a tool output. */
export interface Ride {
  readonly offset: number;
  readonly length: number;
}

function rideOf(part: SessionPart): Ride | undefined {
  const { ride } = fields(fields(fields(part.state).metadata).carryover);
  const offset = numberField(fields(ride).offset);
  const length = numberField(fields(ride).length);
  return offset === undefined || length === undefined ? undefined : { offset, length };
}

function withoutRide(part: SessionPart): SessionPart {
  const ride = rideOf(part);
  const state = fields(part.state);
  if (ride === undefined || typeof state.output !== "string") return part;
  const output = state.output.slice(0, ride.offset) + state.output.slice(ride.offset + ride.length);
  return { ...part, state: { ...state, output } };
}
