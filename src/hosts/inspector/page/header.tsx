import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { InspectedSession, WindowView } from "../view/types.ts";
import { SearchBox, type SearchBoxProps } from "./controls/search-box.tsx";
import type { Theme } from "./state/use-theme.ts";
import { Busy } from "./words/busy.tsx";
import { count, plural } from "./words/numbers.ts";
import { verdictOf } from "./words/verdict.ts";

/** The session in a glance: what it is, how full its window is, and what happened to the rest. */
export function Header({ session, view, state, search, theme, onTheme, onHelp }: HeaderProps): VNode {
  const { windowTokens, windowKnown } = session;
  const share = Math.min(1, view.tokensAfter / windowTokens);
  const fill = view.tokensAfter > windowTokens ? "over" : "within";
  const verdict = useMemo(() => verdictOf(view, session), [view, session]);
  return (
    <header class="head">
      <div class="name">
        <h1>{session.title ?? session.name}</h1>
        <p>
          {[session.format, session.model, plural(session.transcript.length, "message")]
            .filter((word) => word !== undefined)
            .join(" · ")}
          <Redaction secrets={session.redactedSecrets} />
        </p>
        <Problems problems={session.problems} />
      </div>
      <div class="full">
        <p class="figure">
          <b id="window-tokens">{count(view.tokensAfter)}</b> of {count(windowTokens)} tokens in the window
          {!windowKnown && <span class="dim"> (size assumed)</span>}
          <Busy state={state} />
        </p>
        <div class={`meter ${fill}`} aria-hidden="true">
          <span style={{ width: `${100 * share}%` }} />
        </div>
        <p class="verdict">{verdict}</p>
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
  readonly view: WindowView;
  /** Working while a newer view is on its way. */
  readonly state: "working" | "done";
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

function Redaction({ secrets }: { readonly secrets: number }): VNode | null {
  if (secrets === 0) return null;
  return (
    <span class="tag" title="They were replaced before the page got them">
      {plural(secrets, "secret")} redacted
    </span>
  );
}
