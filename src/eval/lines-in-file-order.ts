import { fields } from "../formats/fields.ts";

/**
 * The lines of a session file as one chain in the order in which they were written, so that branches which the
 * agent left again count too: it did see them when it worked there. Lines of sub-agents stay apart.
 */
export function linesInFileOrder(lines: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>();
  let lastId: string | null = null;
  return lines.flatMap((line) => {
    const { uuid, id, type, isSidechain, logicalParentUuid: _, ...rest } = fields(line);
    const lineId = uuid ?? id;
    if (typeof lineId !== "string" || isSidechain === true || type === "session") return [line];
    if (seen.has(lineId)) return [];
    seen.add(lineId);
    const parent = uuid === undefined ? { id, parentId: lastId } : { uuid, parentUuid: lastId };
    lastId = lineId;
    return [{ ...rest, type, ...parent }];
  });
}
