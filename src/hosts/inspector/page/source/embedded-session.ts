import type { InspectedSession } from "../../view/types.ts";

/** The session in the page's data block; undefined when the page has none. */
export function embeddedSession(page: Document): InspectedSession | undefined {
  const block = page.getElementById(DATA_BLOCK_ID);
  if (block === null) return undefined;
  const { session } = JSON.parse(block.textContent ?? "") as { readonly session: InspectedSession };
  return session;
}

/** Where a single file keeps its session. */
export const DATA_BLOCK_ID = "carryover-data";
