import { fields, stringField } from "../../formats/fields.ts";
import type { HostEvent } from "./host.ts";

/** The session that an event says is deleted, if it says so. */
export function deletedSession({ type, properties }: HostEvent): string | undefined {
  if (type !== "session.deleted") return undefined;
  return stringField(fields(properties.info).id) ?? stringField(properties.sessionID);
}
