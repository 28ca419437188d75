import type { VNode } from "preact";
import type { Transcript } from "../../transcript/message.ts";
import type { PolicyBudget, PolicyInfo, WindowView } from "../view/types.ts";
import type { Side } from "./state/band-layout.ts";
import {
  BUDGET_STEPS,
  budgetOf,
  budgetOfStep,
  type PageAction,
  type PageState,
  type PolicyChoice,
  stepOfBudget,
} from "./state/page-state.ts";
import { count, moment, signed } from "./words/words.tsx";

/** The controls: policy, budget and time, and a second policy to compare with. */
export function Controls(props: ControlsProps): VNode {
  const { state, dispatch, transcript, policies, viewA, viewB } = props;
  const isCompared = state.compare === "on";
  const control = (side: Side, name: string): VNode => (
    <PolicyControl side={side} name={name} choice={state[side]} policies={policies} dispatch={dispatch} />
  );
  return (
    <section class="controls" aria-label="Controls">
      <div class="line-of">
        {control("a", isCompared ? "A" : "Policy")}
        <TimeControl transcript={transcript} upTo={state.upTo} dispatch={dispatch} />
        <button type="button" aria-pressed={isCompared} onClick={() => dispatch({ type: "compare" })}>
          Compare
        </button>
      </div>
      {isCompared && (
        <div class="line-of">
          {control("b", "B")}
          {viewB && (
            <p class="difference" aria-live="polite">
              A sends <b>{count(viewA.tokensAfter)}</b> tokens, B <b>{count(viewB.tokensAfter)}</b>: B − A ={" "}
              <b id="difference">{signed(viewB.tokensAfter - viewA.tokensAfter)}</b>
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
  readonly transcript: Transcript;
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
  const { label, unit, min, max } = limits;
  const setBudget = (to: number): void => dispatch({ type: "set-budget", side, budget: to });
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
          type="number"
          id={`exact-${side}`}
          aria-label={`${label}, in ${unit}, exactly`}
          min={min}
          max={max}
          value={budget}
          onChange={({ currentTarget }) => {
            const asked = currentTarget.valueAsNumber;
            if (Number.isFinite(asked)) setBudget(Math.min(max, Math.max(min, Math.round(asked))));
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

/** The time slider: shows the window as it was after that many messages. */
function TimeControl({ transcript, upTo, dispatch }: TimeControlProps): VNode {
  const messages = transcript.length;
  const atMs = transcript[upTo - 1]?.createdAt;
  const words = `message ${count(upTo)} of ${count(messages)}${atMs === undefined ? "" : `, ${moment(atMs)}`}`;
  return (
    <div class="control time">
      <label class="label" for="time">
        Time
      </label>
      <input
        id="time"
        type="range"
        min={Math.min(1, messages)}
        max={messages}
        step={1}
        value={upTo}
        disabled={messages < 2}
        aria-valuetext={words}
        onInput={({ currentTarget }) =>
          dispatch({ type: "scrub", upTo: currentTarget.valueAsNumber, messages })
        }
      />
      <output for="time">{words}</output>
    </div>
  );
}

interface TimeControlProps extends Pick<ControlsProps, "transcript" | "dispatch"> {
  readonly upTo: number;
}
