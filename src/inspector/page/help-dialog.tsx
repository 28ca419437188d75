import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { FATES, FateBadge } from "./words/fates.tsx";

/** Explains what the page shows, and its keys. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const focused = document.activeElement;
    dialog.current?.showModal();
    // Removing an open dialog from the page does not restore the focus.
    return () => {
      if (focused instanceof HTMLElement) focused.focus();
    };
  }, []);
  return (
    <dialog
      class="help"
      ref={dialog}
      aria-labelledby="help-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id="help-title">What this page shows</h2>
      <p>
        The whole session, oldest on top. Each band is something that takes room: a text, a call, its result.
        The policy decides what of it the model would be sent; every number is computed here, by the engine
        itself.
      </p>
      <ul>
        {FATES.map(({ fate, about }) => (
          <li key={fate}>
            <FateBadge fate={fate} /> <b>{fate}</b>: {about}
          </li>
        ))}
      </ul>
      <h2>Keys</h2>
      <dl>
        {KEYS.map(([keys, about]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ["↑ ↓", "through the bands"],
  ["← →", "through the messages"],
  ["PgUp PgDn Home End", "further"],
  ["Enter", "text before and after"],
  ["/", "search; Enter and Shift+Enter go through the places, n and N too"],
  ["c", "compare two policies"],
  ["Esc", "close"],
  ["?", "this help"],
];
