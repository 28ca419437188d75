import { applyEdits } from "../../transcript/apply-edits.ts";
import { findFaults } from "../../transcript/find-faults.ts";
import type { Format } from "../../transcript/format.ts";
import { decodeMessages } from "./decode-messages.ts";
import { encodeMessages } from "./encode-messages.ts";
import { messagesOf, type OpenCodeWire, withMessages } from "./session-message.ts";

/** OpenCode's `{info, parts}` messages: as the server gives them, in the older shape, or in an `opencode export` file. */
export const opencode: OpenCodeFormat = {
  name: "opencode",
  decode: (wire) => decodeMessages(messagesOf(wire)).transcript,
  faults: (wire) => findFaults(opencode.decode(wire)),

  apply(wire, edits, { at }) {
    if (edits.length === 0) return wire;
    const messages = messagesOf(wire);
    const decoded = decodeMessages(messages);
    const edited = applyEdits(decoded.transcript, edits, { at });
    return withMessages(wire, encodeMessages({ messages, decoded, edited, at }));
  },
};

/** The format keeps the form it was given: a list stays a list, an export an export. */
export interface OpenCodeFormat extends Format<OpenCodeWire> {
  apply<Wire extends OpenCodeWire>(
    wire: Wire,
    edits: Parameters<Format<Wire>["apply"]>[1],
    options: Parameters<Format<Wire>["apply"]>[2],
  ): Wire;
}
