import { asObject, asString, omitUndefined } from "../../text/unknown-value.ts";
import { readCarriedFacts } from "../../transcript/carried-facts.ts";
import type { MessageMetadata } from "../../transcript/message.ts";

/** Our own metadata of a message, read back from where a format keeps it; undefined when nothing in it is set. */
export function readMetadata(value: unknown): MessageMetadata | undefined {
  const { agentVisible, userVisible, kind, carried } = asObject(value);
  const metadata = omitUndefined({
    agentVisible: typeof agentVisible === "boolean" ? agentVisible : undefined,
    userVisible: typeof userVisible === "boolean" ? userVisible : undefined,
    kind: asString(kind),
    carried: carried === undefined ? undefined : readCarriedFacts(carried),
  });
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}
