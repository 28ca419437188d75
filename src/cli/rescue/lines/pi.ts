import type { JsonLine } from "../../../formats/lines/read-json-lines.ts";
import { asObject, asString, type UnknownObject } from "../../../text/unknown-value.ts";
import {
  type CollectedLines,
  createCounter,
  createMediaRoom,
  type Keep,
  type SessionLines,
} from "./session-lines.ts";
import { staleThoughtsOfPi } from "./stale-thoughts.ts";

/** The lines of a session of pi: its head, and entries that each name the one before. */
export function piLines(keep: Keep): SessionLines {
  const kept: { readonly lineNumber: number; readonly value: UnknownObject }[] = [];
  const ids = new Set<string>();
  const repeated = createCounter();
  const unlinked = createCounter();
  const headless = createCounter();
  const withNewestMedia = createMediaRoom(keep);
  let endsRepeated = false;
  let before: string | null = null;

  return {
    take({ lineNumber, value }: JsonLine): void {
      const entry = asObject(value);
      if (entry.type === "session") {
        if (kept.length === 0) kept.push({ lineNumber, value: entry });
        return;
      }
      // Every entry says when it was written: what does not is a piece of one that was cut.
      if (entry.timestamp === undefined) return;
      if (kept.length === 0) headless.add(lineNumber);
      const ownId = asString(entry.id);
      endsRepeated = ownId !== undefined && ids.has(ownId);
      if (endsRepeated) {
        repeated.add(lineNumber);
        return;
      }
      const id = ownId ?? `line-${lineNumber}`;
      const parent = asString(entry.parentId) ?? null;
      // A branch may begin anew where the user went back to the beginning.
      const isWhole =
        ownId !== undefined && (parent === null ? before === null || mayBegin(entry) : ids.has(parent));
      if (!isWhole) unlinked.add(lineNumber);
      const linked = keep === "all" || !isWhole ? { ...entry, id, parentId: before } : entry;
      kept.push({ lineNumber, value: withNewestMedia(linked) });
      ids.add(id);
      before = id;
    },
    end(): CollectedLines {
      return {
        lines: kept,
        findings: [
          ...headless.finding({
            problem: "no-head",
            severity: "broken",
            text: () => "the file does not begin with its head: the program does not open it",
          }),
          ...unlinked.finding({
            problem: "broken-chain",
            severity: "broken",
            text: (lines) =>
              `${lines} whose parent is missing: the program does not reach what stands before`,
          }),
          ...repeated.finding({
            problem: "repeated-line",
            severity: endsRepeated ? "broken" : "note",
            text: (lines) => `${lines} repeated`,
          }),
          ...staleThoughtsOfPi(kept),
        ],
      };
    },
  };
}

function mayBegin({ type, message }: UnknownObject): boolean {
  return type !== "message" || asObject(message).role === "user";
}
