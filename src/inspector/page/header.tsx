import type { VNode } from "preact";
import type { InspectedSession } from "../view/types.ts";
import type { Theme } from "./theme.ts";
import { count, plural } from "./words/numbers.ts";

/** Title, search, theme and help. */
export function Header({ session, search, theme, onTheme, onHelp }: HeaderProps): VNode {
  return (
    <header class="head">
      <div class="name">
        <h1>{session.title ?? session.name}</h1>
        <p>
          {[session.format, session.model, plural(session.transcript.length, "message")]
            .filter((word) => word !== undefined)
            .join(" · ")}
          <RedactionNote secrets={session.redactedSecrets} />
        </p>
        <Problems problems={session.problems} />
      </div>
      <div class="tools">
        <SearchBox {...search} />
        <button
          type="button"
          onClick={onTheme}
          aria-label={`Switch to ${theme === "dark" ? "light" : "dark"}`}
        >
          {theme === "dark" ? "Light" : "Dark"}
        </button>
        <button type="button" onClick={onHelp} aria-label="Help">
          ?
        </button>
      </div>
    </header>
  );
}

interface HeaderProps {
  readonly session: InspectedSession;
  readonly search: SearchBoxProps;
  readonly theme: Theme;
  readonly onTheme: () => void;
  readonly onHelp: () => void;
}

function Problems({ problems }: { readonly problems: readonly string[] }): VNode | null {
  if (problems.length === 0) return null;
  return (
    <details class="tag warn">
      <summary>{plural(problems.length, "problem")} while reading</summary>
      <ul>
        {problems.slice(0, MAX_PROBLEMS).map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </details>
  );
}

const MAX_PROBLEMS = 50;

function RedactionNote({ secrets }: { readonly secrets: number }): VNode | null {
  if (secrets === 0) return null;
  return (
    <span class="tag" title="They were replaced before the page got them">
      {plural(secrets, "secret")} redacted
    </span>
  );
}

/** Searches all texts; Enter goes to the next match, Shift+Enter to the previous one. */
function SearchBox({ query, total, at, onSearch, onStep }: SearchBoxProps): VNode {
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

interface SearchBoxProps {
  readonly query: string;
  /** How many items match; undefined while that is being computed. */
  readonly total: number | undefined;
  /** The match at which the keyboard is. */
  readonly at: number | undefined;
  readonly onSearch: (query: string) => void;
  readonly onStep: (step: 1 | -1) => void;
}
