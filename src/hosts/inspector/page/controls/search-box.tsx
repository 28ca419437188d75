import type { VNode } from "preact";
import { count, plural } from "../words/numbers.ts";

/** Search in everything that was said; Enter goes to the next place, Shift+Enter to the one before. */
export function SearchBox({ query, total, at, onSearch, onStep }: SearchBoxProps): VNode {
  return (
    <search class="search">
      <input
        id="search"
        type="search"
        placeholder="Search  /"
        aria-label="Search the session"
        value={query}
        onInput={({ currentTarget }) => onSearch(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          onStep(event.shiftKey ? -1 : 1);
        }}
      />
      <output for="search" aria-live="polite">
        {query === "" || total === undefined
          ? ""
          : total === 0
            ? "none"
            : at === undefined
              ? plural(total, "item")
              : `${count(at + 1)} of ${count(total)}`}
      </output>
      {total !== undefined && total > 0 && (
        <>
          <button type="button" onClick={() => onStep(-1)} aria-label="Previous match">
            ↑
          </button>
          <button type="button" onClick={() => onStep(1)} aria-label="Next match">
            ↓
          </button>
        </>
      )}
    </search>
  );
}

export interface SearchBoxProps {
  readonly query: string;
  /** How many items contain it; undefined while nobody knows. */
  readonly total: number | undefined;
  /** Which of them the keyboard is at. */
  readonly at: number | undefined;
  readonly onSearch: (query: string) => void;
  readonly onStep: (step: 1 | -1) => void;
}
