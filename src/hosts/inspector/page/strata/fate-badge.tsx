import type { VNode } from "preact";
import type { Fate } from "../../view/types.ts";
import { letterOf } from "../words/fates.ts";

/** The letter of a fate on its colour, so that neither is the only sign. Its word stands beside it. */
export function FateBadge({ fate }: { readonly fate: Fate }): VNode {
  return (
    <span class={`badge ${fate}`} title={fate} aria-hidden="true">
      {letterOf(fate)}
    </span>
  );
}
