import type { ItemRow } from "../../view/types.ts";

/** How much of an item is sent, from 0 to 1; of one without tokens all or nothing. */
export function sentShare({ tokens, keptTokens, fate }: SizedItem): number {
  if (tokens <= 0) return fate === "kept" ? 1 : 0;
  return Math.min(1, keptTokens / tokens);
}

type SizedItem = Pick<ItemRow, "tokens" | "keptTokens" | "fate">;
