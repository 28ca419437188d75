import type { ComponentChildren, VNode } from "preact";
import type { PanelTab } from "../state/page-state.ts";
import { scrolledByKeyboard } from "./scrolled-by-keyboard.ts";

/** The side panel: one thing at a time, chosen by tabs. */
export function Panel({ tab, onTab, children }: PanelProps): VNode {
  const step = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const at = TABS.findIndex(({ id }) => id === tab);
    const next = TABS[(at + by + TABS.length) % TABS.length];
    if (next === undefined) return;
    onTab(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <aside class={`panel ${tab}`} aria-label="Details">
      <div class="tabs" role="tablist" aria-label="Details" onKeyDown={step}>
        {TABS.map(({ id, label }) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={id === tab}
            aria-controls="panel-body"
            tabIndex={id === tab ? 0 : -1}
            onClick={() => onTab(id)}
          >
            {label}
          </button>
        ))}
      </div>
      <div
        id="panel-body"
        class="body"
        role="tabpanel"
        aria-labelledby={`tab-${tab}`}
        ref={scrolledByKeyboard}
      >
        {children}
      </div>
    </aside>
  );
}

interface PanelProps {
  readonly tab: PanelTab;
  readonly onTab: (tab: PanelTab) => void;
  readonly children: ComponentChildren;
}

const TABS: readonly { readonly id: PanelTab; readonly label: string }[] = [
  { id: "totals", label: "Totals" },
  { id: "item", label: "Before / after" },
  { id: "child", label: "Child" },
  { id: "compaction", label: "Compaction" },
];
