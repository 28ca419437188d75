import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { PolicyBudget } from "../../view/types.ts";
import { BUDGET_STEPS, budgetOfStep, parseBudget, stepOfBudget } from "../state/budget-steps.ts";
import { count } from "../words/numbers.ts";

/** The budget that policies and children share, as a slider and as an exact number. */
export function BudgetControl({ id, shared, budgetTokens, onBudget }: BudgetControlProps): VNode {
  const { label, unit } = shared;
  // An answer of the engine may arrive while the user types: the typed text stays until it is submitted.
  const [typed, setTyped] = useState<string>();
  return (
    <div class="control budget">
      <label class="label" for={`budget-${id}`}>
        Budget: {label}
      </label>
      <input
        id={`budget-${id}`}
        type="range"
        min={0}
        max={BUDGET_STEPS}
        step={1}
        value={stepOfBudget(budgetTokens, shared)}
        aria-valuetext={`${count(budgetTokens)} ${unit}`}
        onInput={({ currentTarget }) => onBudget(budgetOfStep(currentTarget.valueAsNumber, shared))}
      />
      <span class="exact">
        <input
          type="text"
          inputMode="decimal"
          id={`exact-${id}`}
          aria-label={`${label}, in ${unit}, exactly`}
          value={typed ?? budgetTokens}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onChange={({ currentTarget }) => {
            const asked = parseBudget(currentTarget.value, shared);
            setTyped(undefined);
            if (asked !== undefined) onBudget(asked);
          }}
        />{" "}
        {unit}
      </span>
    </div>
  );
}

export interface BudgetControlProps {
  /** Unique on the page. */
  readonly id: string;
  /** Its limits. */
  readonly shared: PolicyBudget;
  readonly budgetTokens: number;
  readonly onBudget: (budgetTokens: number) => void;
}
