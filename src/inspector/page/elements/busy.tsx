import type { VNode } from "preact";

/** A note while a newer answer is being computed; the stylesheet delays it, so that quick answers show none. */
export function Busy({ state }: { readonly state: "working" | "done" }): VNode {
  return (
    <span class="busy" data-state={state} aria-hidden="true">
      computing…
    </span>
  );
}
