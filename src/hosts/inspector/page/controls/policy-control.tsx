import type { VNode } from "preact";
import type { PolicyId, PolicyInfo } from "../../view/types.ts";
import {
  BUDGET_STEPS,
  budgetOf,
  budgetOfStep,
  type PolicyChoice,
  stepOfBudget,
} from "../state/page-state.ts";
import type { Side } from "../strata/lay-bands.ts";
import { count } from "../words/numbers.ts";

/** Which policy a side shows, and how much it may keep. */
export function PolicyControl({
  side,
  name,
  choice,
  policies,
  onPolicy,
  onBudget,
}: PolicyControlProps): VNode {
  const policy = policies.find(({ id }) => id === choice.policy);
  const budget = policy && budgetOf(choice, policy);
  return (
    <div class="control policy">
      <label>
        <span class="label">{name}</span>
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
      </label>
      {policy?.budget && budget !== undefined ? (
        <div class="budget">
          <label class="label" for={`budget-${side}`} title={policy.budget.label}>
            {policy.budget.label}
          </label>
          <input
            id={`budget-${side}`}
            type="range"
            min={0}
            max={BUDGET_STEPS}
            step={1}
            value={stepOfBudget(budget, policy.budget)}
            aria-valuetext={`${count(budget)} ${policy.budget.unit}`}
            onInput={({ currentTarget }) => {
              if (policy.budget) onBudget(budgetOfStep(currentTarget.valueAsNumber, policy.budget));
            }}
          />
          <input
            type="number"
            class="exact"
            aria-label={`${policy.budget.label} in ${policy.budget.unit}, exactly`}
            min={policy.budget.min}
            max={policy.budget.max}
            value={budget}
            onChange={({ currentTarget }) => {
              if (Number.isFinite(currentTarget.valueAsNumber)) onBudget(currentTarget.valueAsNumber);
            }}
          />
          <span class="unit">{policy.budget.unit}</span>
        </div>
      ) : (
        <p class="about">{policy?.about}</p>
      )}
    </div>
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
