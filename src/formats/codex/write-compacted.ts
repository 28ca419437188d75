import { type Fields, fields } from "../fields.ts";
import type { NextPiece } from "../transcript-file/piece.ts";
import { readContent } from "./read-item.ts";
import { writeContent } from "./write-item.ts";

/** A compaction with other pieces: those of the history that replaces the old one stay in their items. */
export function writeCompacted(line: Fields, pieces: readonly NextPiece[]): object {
  const payload = fields(line.payload);
  const isMarker = ({ was }: NextPiece) => was.half === "whole" && was.part.type === "compaction";
  const carryover = fields(line.carryover);
  const own = pieces.filter((piece) => !isMarker(piece));
  const marked = pieces.some(isMarker) ? line : { ...line, carryover: { ...carryover, marker: false } };
  const isChanged = own.some(({ was, now }) => was !== now);
  const last = own.at(-1)?.now;
  const text = last?.half === "whole" && last.part.type === "text" ? last.part.text : "";
  if (!Array.isArray(payload.replacement_history))
    return { ...marked, payload: { ...payload, message: text } };
  let start = 0;
  const history = payload.replacement_history.map(fields).flatMap((item): readonly Fields[] => {
    const count = item.type === "message" ? readContent(item.content).length : 1;
    const first = start;
    start += count;
    const inside = own.filter(({ index }) => index >= first && index < first + count);
    if (inside.length === 0) return count === 0 ? [item] : [];
    if (item.type !== "message") return [item];
    if (inside.length === count && inside.every(({ was, now }) => was === now)) return [item];
    const moved = inside.map((piece) => ({ ...piece, index: piece.index - first }));
    return [{ ...item, content: writeContent(item.content, moved, `${item.role}`) }];
  });
  const message = isChanged || own.length === 0 ? text : payload.message;
  return { ...marked, payload: { ...payload, message, replacement_history: history } };
}
