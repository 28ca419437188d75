import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { InspectedSession, PolicyInfo, WindowView } from "../view/types.ts";
import type { Side } from "./state/band-layout.ts";
import { budgetOf, type PageAction, type PageState, type PolicyChoice } from "./state/page-state.ts";
import {
  BudgetControl,
  type BudgetControlProps,
  count,
  FATES,
  FateBadge,
  plural,
  signed,
} from "./words/words.tsx";

/** What session this is, the search, and what is about the page itself. */
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

/** The controls: policy and budget, and a second policy to compare with. */
export function Controls(props: ControlsProps): VNode {
  const { state, dispatch, viewA, viewB } = props;
  const isCompared = state.compare === "on";
  const control = (side: Side, name: string, view: WindowView | undefined): VNode => (
    <PolicyControl {...props} side={side} name={name} choice={state[side]} view={view} />
  );
  return (
    <section class="controls" aria-label="Controls">
      <div class="line-of">
        {control("a", isCompared ? "A" : "Policy", viewA)}
        <button type="button" aria-pressed={isCompared} onClick={() => dispatch({ type: "compare" })}>
          Compare
        </button>
      </div>
      {isCompared && (
        <div class="line-of">
          {control("b", "B", viewB)}
          {viewB && (
            <p class="difference" aria-live="polite">
              A leaves <b>{count(viewA.size.tokens)}</b> tokens, B <b>{count(viewB.size.tokens)}</b>: B − A ={" "}
              <b id="difference">{signed(viewB.size.tokens - viewA.size.tokens)}</b>
            </p>
          )}
        </div>
      )}
    </section>
  );
}

interface ControlsProps extends Pick<BudgetControlProps, "shared"> {
  readonly state: PageState;
  readonly dispatch: (action: PageAction) => void;
  readonly policies: readonly PolicyInfo[];
  /** The window of the session's model. */
  readonly windowTokens: number;
  readonly viewA: WindowView;
  readonly viewB: WindowView | undefined;
}

/** The policy of one side, and its budget. */
function PolicyControl(props: PolicyControlProps): VNode {
  const { side, name, choice, policies, dispatch, shared, windowTokens, view } = props;
  const policy = policies.find(({ id }) => id === choice.policy);
  return (
    <>
      <div class="control policy">
        <label class="label" for={`policy-${side}`}>
          {name}
        </label>
        <select
          id={`policy-${side}`}
          value={choice.policy}
          title={policy?.about}
          onChange={({ currentTarget }) => {
            const chosen = policies.find(({ id }) => id === currentTarget.value);
            if (chosen !== undefined) dispatch({ type: "choose-policy", side, policy: chosen.id });
          }}
        >
          {policies.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {policy?.budget ? (
        <BudgetControl
          id={side}
          shared={shared}
          budgetTokens={budgetOf(choice, { shared, windowTokens })}
          onBudget={(budgetTokens) => dispatch({ type: "set-budget", side, budgetTokens })}
        />
      ) : (
        <p class="control about">{policy?.about}</p>
      )}
      {view?.budgetTokens !== undefined && view.size.tokens > view.budgetTokens && (
        <p class="control about over">
          {count(view.size.tokens - view.budgetTokens)} tokens more than the budget: this policy may take out
          no more.
        </p>
      )}
    </>
  );
}

interface PolicyControlProps extends Omit<ControlsProps, "state" | "viewA" | "viewB"> {
  readonly side: Side;
  readonly name: string;
  readonly choice: PolicyChoice;
  readonly view: WindowView | undefined;
}

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

/** Light or dark as the system prefers, until the reader chooses. */
export function useTheme(): { readonly theme: Theme; readonly toggle: () => void } {
  const [theme, setTheme] = useState<Theme>(() => (dark().matches ? "dark" : "light"));
  useEffect(() => {
    const follow = ({ matches }: MediaQueryListEvent): void => setTheme(matches ? "dark" : "light");
    const media = dark();
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return { theme, toggle: () => setTheme((now) => (now === "dark" ? "light" : "dark")) };
}

type Theme = "light" | "dark";

function dark(): MediaQueryList {
  return matchMedia("(prefers-color-scheme: dark)");
}
