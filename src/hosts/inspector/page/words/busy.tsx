import type { VNode } from "preact";

/** A quiet word while a newer answer of the engine is on its way; what is answered at once shows none. */
export function Busy({ state }: { readonly state: "working" | "done" }): VNode {
  return (
    <span class="busy" data-state={state} aria-hidden="true">
      computing…
    </span>
  );
}
