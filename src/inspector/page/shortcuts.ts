import { useEffect, useRef } from "preact/hooks";
import type { PageAction } from "./state/page-state.ts";

/** Keys that work everywhere on the page, except in text fields. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const newest = useRef(shortcuts);
  newest.current = shortcuts;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") {
        newest.current.dispatch({ type: "close" });
        if (isTyping(event.target)) document.querySelector<HTMLElement>(".scroller")?.focus();
        return;
      }
      if (isTyping(event.target)) return;
      const act = ACTIONS[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act(newest.current);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

interface Shortcuts {
  readonly dispatch: (action: PageAction) => void;
  readonly step: (by: 1 | -1) => void;
}

const ACTIONS: Readonly<Record<string, (shortcuts: Shortcuts) => void>> = {
  "/": () => document.getElementById("search")?.focus(),
  "?": ({ dispatch }) => dispatch({ type: "help", help: "open" }),
  n: ({ step }) => step(1),
  N: ({ step }) => step(-1),
  c: ({ dispatch }) => dispatch({ type: "compare" }),
};

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "range" && target.type !== "radio";
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}
