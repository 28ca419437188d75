import type { ComponentChildren, VNode } from "preact";
import type { ListFilter } from "../state/band-layout.ts";
import type { PageAction } from "../state/page-state.ts";

/** A button with a row's name that switches the filter by it on and off. */
export function Pick({ by, value, filter, dispatch, title, children }: PickProps): VNode {
  return (
    <button
      type="button"
      class="pick"
      title={title}
      aria-pressed={filter[by] === value}
      onClick={() => dispatch({ type: "filter", filter: { [by]: value } })}
    >
      {children}
    </button>
  );
}

interface PickProps extends Picks {
  readonly by: keyof ListFilter;
  readonly value: string;
  readonly title?: string;
  readonly children: ComponentChildren;
}

export interface Picks {
  /** The filter of the list. */
  readonly filter: ListFilter;
  readonly dispatch: (action: PageAction) => void;
}
