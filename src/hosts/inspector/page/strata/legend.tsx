import type { VNode } from "preact";
import { FATES } from "../words/fates.ts";
import { FateBadge } from "./fate-badge.tsx";

/** What the colours, letters, heights and widths mean. */
export function Legend(): VNode {
  return (
    <div class="legend">
      <ul aria-label="Fates">
        {FATES.map(({ fate, label, about }) => (
          <li key={fate} title={about}>
            <FateBadge fate={fate} />
            <span class={`swatch track ${fate}`} aria-hidden="true">
              <span class="sent" />
            </span>
            {label}
          </li>
        ))}
      </ul>
      <p>Taller: more tokens (square root). Solid: sent to the model. Faint: left out.</p>
    </div>
  );
}
