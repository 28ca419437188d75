import type { VNode } from "preact";
import type { PolicyBudget } from "../../view/types.ts";
import type { Side } from "../strata/lay-bands.ts";
import { count } from "../words/numbers.ts";
import { BUDGET_STEPS, budgetOfStep, stepOfBudget } from "./budget-steps.ts";

/** How much a policy may keep: by a slider, or exactly. */
export function BudgetControl({ side, limits, budget, onBudget }: BudgetControlProps): VNode {
  const { label, unit, min, max } = limits;
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
        onInput={({ currentTarget }) => onBudget(budgetOfStep(currentTarget.valueAsNumber, limits))}
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
            if (Number.isFinite(asked)) onBudget(Math.min(max, Math.max(min, Math.round(asked))));
          }}
        />{" "}
        {unit}
      </span>
    </div>
  );
}

interface BudgetControlProps {
  readonly side: Side;
  readonly limits: PolicyBudget;
  readonly budget: number;
  readonly onBudget: (budget: number) => void;
}
