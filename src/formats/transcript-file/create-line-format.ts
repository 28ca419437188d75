import { applyEdits } from "../../transcript/apply-edits.ts";
import { findFaults } from "../../transcript/find-faults.ts";
import type { Format } from "../../transcript/format.ts";
import { decodeLines } from "./decode-lines.ts";
import { encodeLines } from "./encode-lines.ts";
import type { LineFormat } from "./piece.ts";

/** A format of transcript files, from how its lines are read and written. */
export function createLineFormat<Wire>(format: LineFormat<Wire>): Format<Wire> {
  const decode = (wire: Wire) => decodeLines(format, format.open(wire)).transcript;
  return {
    name: format.name,
    decode,
    faults: (wire) => findFaults(decode(wire)),

    apply(wire, edits, { at }) {
      if (edits.length === 0) return wire;
      const lines = format.open(wire);
      const decoded = decodeLines(format, lines);
      const edited = applyEdits(decoded.transcript, edits, { at });
      return format.close(wire, encodeLines({ format, lines, decoded, edited, at }));
    },
  };
}
