import type { ComponentChildren, VNode } from "preact";
import type { PanelTab } from "../state/page-state.ts";
import { scrolledByKeyboard } from "./scrolled-by-keyboard.ts";

/** The side panel: one thing at a time, chosen by tabs. */
export function Panel({ tab, tabs, onTab, children }: PanelProps): VNode {
  const step = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside class={`panel ${tab}`} aria-label="Details">
      <div class="tabs" role="tablist" aria-label="Details" onKeyDown={step}>
        {tabs.map((id) => (
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
            {LABELS[id]}
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
  /** Those that there are. */
  readonly tabs: readonly PanelTab[];
  readonly onTab: (tab: PanelTab) => void;
  readonly children: ComponentChildren;
}

const LABELS: Readonly<Record<PanelTab, string>> = {
  totals: "Totals",
  item: "Before / after",
  child: "Child",
  compaction: "Compaction",
  live: "Live",
};
