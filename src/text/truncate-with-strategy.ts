import { truncate } from "./truncate.ts";

/** Keeps `limit` characters of a text: its beginning, or with `useHeadTail` 80 % of them from the beginning and 20 % from the end. */
export function truncateWithStrategy(text: string, limit: number, useHeadTail: boolean): string {
  return truncate(text, { limitChars: limit, method: useHeadTail ? "head-tail" : "head" }).text;
}
