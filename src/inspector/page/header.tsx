import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { InspectedSession, PolicyBudget, PolicyInfo, WindowView } from "../view/types.ts";
import type { Side } from "./state/band-layout.ts";
import {
  BUDGET_STEPS,
  budgetOf,
  budgetOfStep,
  type PageAction,
  type PageState,
  type PolicyChoice,
  parseBudget,
  stepOfBudget,
} from "./state/page-state.ts";
import { count, FATES, FateBadge, plural, signed } from "./words/words.tsx";

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
  const { state, dispatch, policies, viewA, viewB } = props;
  const isCompared = state.compare === "on";
  const control = (side: Side, name: string): VNode => (
    <PolicyControl side={side} name={name} choice={state[side]} policies={policies} dispatch={dispatch} />
  );
  return (
    <section class="controls" aria-label="Controls">
      <div class="line-of">
        {control("a", isCompared ? "A" : "Policy")}
        <button type="button" aria-pressed={isCompared} onClick={() => dispatch({ type: "compare" })}>
          Compare
        </button>
      </div>
      {isCompared && (
        <div class="line-of">
          {control("b", "B")}
          {viewB && (
            <p class="difference" aria-live="polite">
              A sends <b>{count(viewA.size.tokens)}</b> tokens, B <b>{count(viewB.size.tokens)}</b>: B − A ={" "}
              <b id="difference">{signed(viewB.size.tokens - viewA.size.tokens)}</b>
            </p>
          )}
        </div>
      )}
    </section>
  );
}

interface ControlsProps {
  readonly state: PageState;
  readonly dispatch: (action: PageAction) => void;
  readonly policies: readonly PolicyInfo[];
  readonly viewA: WindowView;
  readonly viewB: WindowView | undefined;
}

/** The policy of one side, and its budget. */
function PolicyControl(props: PolicyControlProps): VNode {
  const { side, name, choice, policies, dispatch } = props;
  const policy = policies.find(({ id }) => id === choice.policy);
  const budget = policy && budgetOf(choice, policy);
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
      {policy?.budget && budget !== undefined ? (
        <BudgetControl side={side} limits={policy.budget} budget={budget} dispatch={dispatch} />
      ) : (
        <p class="control about">{policy?.about}</p>
      )}
    </>
  );
}

interface PolicyControlProps {
  readonly side: Side;
  readonly name: string;
  readonly choice: PolicyChoice;
  readonly policies: readonly PolicyInfo[];
  readonly dispatch: (action: PageAction) => void;
}

/** The budget of a policy, as a slider and as an exact number. */
function BudgetControl({ side, limits, budget, dispatch }: BudgetControlProps): VNode {
  const { label, unit } = limits;
  const setBudget = (to: number): void => dispatch({ type: "set-budget", side, budget: to });
  // An answer of the engine may come while somebody types: what is typed stays until it is taken.
  const [typed, setTyped] = useState<string>();
  return (
    <div class="control budget">
      <label class="label" for={`budget-${side}`}>
        Budget: {label}
      </label>
      <input
        id={`budget-${side}`}
        type="range"
        min={0}
        max={BUDGET_STEPS}
        step={1}
        value={stepOfBudget(budget, limits)}
        aria-valuetext={`${count(budget)} ${unit}`}
        onInput={({ currentTarget }) => setBudget(budgetOfStep(currentTarget.valueAsNumber, limits))}
      />
      <span class="exact">
        <input
          type="text"
          inputMode="decimal"
          id={`exact-${side}`}
          aria-label={`${label}, in ${unit}, exactly`}
          value={typed ?? budget}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onChange={({ currentTarget }) => {
            const asked = parseBudget(currentTarget.value, limits);
            setTyped(undefined);
            if (asked !== undefined) setBudget(asked);
          }}
        />{" "}
        {unit}
      </span>
    </div>
  );
}

interface BudgetControlProps extends Pick<PolicyControlProps, "side" | "dispatch"> {
  readonly limits: PolicyBudget;
  readonly budget: number;
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
