import type { ApplyOptions } from "./apply-edits.ts";
import type { Edit } from "./edit.ts";
import type { Fault } from "./find-faults.ts";
import type { Transcript } from "./message.ts";

/**
 * A foreign way to write a conversation, as three functions that keep three laws: no edits, no change (the same
 * reference); editing the wire and decoding it equals decoding and editing; an edit brings no fault that was not there.
 */
export interface Format<Wire> {
  readonly name: string;
  /** Reads foreign messages. Total: what it does not understand becomes an opaque part. */
  decode(wire: Wire): Transcript;
  /** The foreign messages with the edits in them; what is hidden is left out. */
  apply(wire: Wire, edits: readonly Edit[], options: ApplyOptions): Wire;
  /** What the receiver of the wire would refuse. */
  faults(wire: Wire): readonly Fault[];
}
