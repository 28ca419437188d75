import { compactionPart, type Message, type MessageId, type Transcript } from "../../transcript/message.ts";
import { explainReason } from "./explain-reason.ts";
import { isCompactionSummary, partTexts } from "./part-texts.ts";
import type { PolicyRun } from "./policies.ts";
import type { RecordedRows } from "./recorded-rows.ts";
import type { InsertedRow } from "./types.ts";

/** The messages that a policy inserted, each with its place among the recorded ones. */
export function insertedRows(
  { source, left, edits }: PolicyRun,
  { tokensOf }: RecordedRows,
): readonly InsertedRow[] {
  const inserts = edits.filter((edit) => edit.type === "insert-message");
  if (inserts.length === 0) return [];
  const places = placesOf(left, source);
  return inserts.map(({ message, stage, reason }) => {
    const text = message.parts
      .flatMap((part) => partTexts(message, part, "shown"))
      .map((each) => each.text)
      .join("\n");
    return {
      beforeIndex: places.get(message.id) ?? 0,
      id: message.id,
      role: message.role,
      kind: kindOf(message),
      text,
      chars: text.length,
      tokens: tokensOf(text),
      stage,
      reason,
      about: explainReason({ stage, reason }),
    };
  });
}

function kindOf(message: Message): InsertedRow["kind"] {
  if (isCompactionSummary(message) || message.metadata?.kind === "tool_summary") return "summary";
  return compactionPart(message) === undefined ? "other" : "marker";
}

/** The index of the recorded message before which each inserted one stands. */
function placesOf(left: Transcript, source: Transcript): ReadonlyMap<MessageId, number> {
  const indexes = new Map(source.map(({ id }, index) => [id, index]));
  const places = new Map<MessageId, number>();
  let next = source.length;
  for (const { id } of left.toReversed()) {
    const index = indexes.get(id);
    if (index === undefined) places.set(id, next);
    else next = index;
  }
  return places;
}
