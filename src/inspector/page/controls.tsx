import type { VNode } from "preact";
import type { PolicyInfo, WindowView } from "../view/types.ts";
import { BudgetControl, type BudgetControlProps } from "./elements/budget-control.tsx";
import type { Side } from "./state/band-layout.ts";
import { budgetOf, type PageAction, type PageState, type PolicyChoice } from "./state/page-state.ts";
import { count, signed } from "./words/numbers.ts";

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
