import { compactionPart } from "../../../stages/completed-compaction.ts";
import type { InsertMessage } from "../../../transcript/edit.ts";
import type { Message, MessageId, Transcript } from "../../../transcript/message.ts";
import { explainReason } from "./explain-reason.ts";
import { partTexts } from "./part-texts.ts";
import type { PolicyRun } from "./policy-run.ts";
import { isCompactionSummary, type RecordedRows } from "./recorded-rows.ts";
import type { InsertedRow } from "./types.ts";

/** The messages that a policy put in, each with the place at which it stands among the recorded ones. */
export function insertedRows(
  { source, left, edits }: PolicyRun,
  { tokensOf }: RecordedRows,
): readonly InsertedRow[] {
  const inserts = edits.filter((edit) => edit.type === "insert-message");
  if (inserts.length === 0) return [];
  const places = placesOf(left, source);
  return inserts.map((edit) => rowOf(edit, { beforeIndex: places.get(edit.message.id) ?? 0, tokensOf }));
}

interface RowInput {
  readonly beforeIndex: number;
  readonly tokensOf: (text: string) => number;
}

function rowOf({ message, stage, reason }: InsertMessage, { beforeIndex, tokensOf }: RowInput): InsertedRow {
  const text = message.parts
    .flatMap((part) => partTexts(message, part, "shown"))
    .map((each) => each.text)
    .join("\n");
  return {
    beforeIndex,
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
}

function kindOf(message: Message): InsertedRow["kind"] {
  if (isCompactionSummary(message) || message.metadata?.kind === "tool_summary") return "summary";
  return compactionPart(message) === undefined ? "other" : "marker";
}

/** Before which recorded message each of the others stands. */
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
