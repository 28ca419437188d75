import type { Journal } from "../../session/journal.ts";
import { toJson } from "../to-json.ts";

/** Keeps a session's log in memory, for as long as the object lives. */
export function createMemoryJournal(): Journal {
  const lines: string[] = [];
  return {
    async append(value) {
      const json = toJson(value);
      if (typeof json !== "string") return json;
      lines.push(json);
      return { status: "appended", sequence: lines.length };
    },
    async read() {
      const entries = lines.map((json, index) => ({
        sequence: index + 1,
        writer: "memory",
        value: JSON.parse(json) as unknown,
      }));
      return { entries, problems: [] };
    },
  };
}
