import type { VNode } from "preact";
import type { PolicyId, PolicyInfo } from "../../view/types.ts";
import type { PolicyChoice } from "../state/page-state.ts";
import { budgetOf } from "../state/page-state.ts";
import type { Side } from "../strata/lay-bands.ts";
import { BudgetControl } from "./budget-control.tsx";

/** Which policy a side shows, and how much it may keep. */
export function PolicyControl(props: PolicyControlProps): VNode {
  const { side, name, choice, policies, onPolicy, onBudget } = props;
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
            if (chosen !== undefined) onPolicy(chosen.id);
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
        <BudgetControl side={side} limits={policy.budget} budget={budget} onBudget={onBudget} />
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
  readonly onPolicy: (policy: PolicyId) => void;
  readonly onBudget: (budget: number) => void;
}
