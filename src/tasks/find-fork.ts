import type { ForkRecord } from "./fork-record.ts";

/** The fork of a root that a model or person names by id or by number; never by a part of an id. */
export function findFork(
  records: readonly ForkRecord[],
  { rootSessionId, name }: { readonly rootSessionId: string; readonly name: string },
): ForkRecord | undefined {
  const wanted = name.trim();
  const number = wanted.replace(/^(?:fork\s*)?#?/i, "");
  const ofRoot = records.filter((record) => record.rootSessionId === rootSessionId);
  return ofRoot.find(({ id }) => id === wanted) ?? ofRoot.find((record) => String(record.number) === number);
}
