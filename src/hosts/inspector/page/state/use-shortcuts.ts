import { useEffect, useRef } from "preact/hooks";

/** The keys that work everywhere on the page, except where somebody types. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const newest = useRef(shortcuts);
  newest.current = shortcuts;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") {
        newest.current.onClose();
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

export interface Shortcuts {
  readonly onStep: (step: 1 | -1) => void;
  readonly onClose: () => void;
  readonly onHelp: () => void;
  readonly onCompare: () => void;
}

const ACTIONS: Readonly<Record<string, (shortcuts: Shortcuts) => void>> = {
  "/": () => document.getElementById("search")?.focus(),
  "?": ({ onHelp }) => onHelp(),
  n: ({ onStep }) => onStep(1),
  N: ({ onStep }) => onStep(-1),
  c: ({ onCompare }) => onCompare(),
};

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "range" && target.type !== "radio";
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}
