import { formatOf } from "../../formats/format-of.ts";
import type { OpenCodeWire } from "../../formats/opencode/session-message.ts";
import { transcriptText } from "../../formats/read-transcript.ts";
import type { Edit } from "../../transcript/edit.ts";
import { importableSession } from "./importable-session.ts";
import { orderByTime } from "./order-by-time.ts";
import type { InputFile } from "./read-input.ts";

/** The text of a file with edits in it, in the file's own format. */
export function editedText(
  { format, form, wire }: InputFile,
  edits: readonly Edit[],
  { at, order }: EditedTextOptions,
): string {
  const edited = formatOf(format).apply(wire, edits, { at });
  if (format !== "opencode") return transcriptText({ form, wire: edited });
  const session = importableSession(edited as OpenCodeWire);
  return transcriptText({ form, wire: order === "of-the-list" ? orderByTime(session) : session });
}

export interface EditedTextOptions {
  /** Milliseconds since 1970, for what the edits insert. */
  readonly at: number;
  /**
   * Where an agent sorts by time: `of-the-list` dates messages so that they stay where they stand; `of-time` leaves a
   * compaction where it happened, since its marker names the tail that it keeps.
   */
  readonly order: "of-the-list" | "of-time";
}
