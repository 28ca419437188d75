import type { VNode } from "preact";
import { priceOf } from "../../../models/model-price.ts";
import { formatUSD } from "../../../text/format-number.ts";
import { NEXT_STEPS } from "../../view/lost-content.ts";
import type { CacheCost, KeptByPolicy, PolicyId } from "../../view/types.ts";
import { BudgetControl, type BudgetControlProps } from "../elements/budget-control.tsx";
import { Busy } from "../elements/busy.tsx";
import { ColumnHeads } from "../elements/column-heads.tsx";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import { count, percent, signed } from "../words/numbers.ts";
import { policyVerdict } from "./policy-verdict.ts";

/** What every policy would leave now with the same budget, what it keeps and what it costs, and which is best here; choosing one applies it. */
export function PoliciesPanel({ asked, upTo, chosen, onPolicy, ...budget }: PoliciesPanelProps): VNode {
  const { budgetTokens } = budget;
  const { answer: results, state } = useAnswer<"policies">(asked, { type: "policies", upTo, budgetTokens });
  const { answer: kept, state: keptState } = useAnswer<"kept">(asked, { type: "kept", budgetTokens });
  const model =
    asked.session.model ?? asked.session.transcript.findLast((message) => message.model)?.model?.id;
  const inputUSD =
    model === undefined ? undefined : priceOf({ id: model }, { rows: asked.session.models })?.input;
  return (
    <>
      <h2>
        Which policy should I use? <Busy state={state === "done" ? keptState : state} />
      </h2>
      {results && kept && <p id="policy-verdict">{policyVerdict(results, { kept, budgetTokens })}</p>}
      <BudgetControl id="policies" {...budget} />
      <table class="policies">
        <ColumnHeads names={["policy", "window", "change", "keeps", "costs"]} />
        <tbody>
          {results?.map(({ id, label, about, tokens, changeTokens, cache }) => (
            <tr key={id} class={id === chosen ? "chosen" : ""}>
              <th scope="row">
                <button type="button" class="link" aria-pressed={id === chosen} onClick={() => onPolicy(id)}>
                  {label}
                </button>{" "}
                <span class="dim">{about}</span>
              </th>
              <td class="strong">
                {count(tokens)}
                {tokens > budgetTokens && <div class="over">over</div>}
              </td>
              <td>{signed(changeTokens)}</td>
              <td>{keptText(kept?.find(({ policy }) => policy === id))}</td>
              <td>{nextPrice(cache, inputUSD)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="dim">
        All with the same budget, at the moment that is shown. Keeps: of the names and lines that the next{" "}
        {NEXT_STEPS} steps used, at up to three places of this session, by the measure of{" "}
        <i>carryover eval</i>. Costs: the input of the next {results?.[0]?.cache.expectedSteps ?? 12} requests
        at the provider's cache prices, compared with changing nothing.
      </p>
    </>
  );
}

interface PoliciesPanelProps extends Omit<BudgetControlProps, "id"> {
  readonly asked: AskedSession;
  readonly upTo: number;
  readonly chosen: PolicyId;
  readonly onPolicy: (policy: PolicyId) => void;
}

function keptText(kept: KeptByPolicy | undefined): string {
  return kept === undefined ? "?" : percent(kept.keptCount, kept.neededCount);
}

function nextPrice(cache: CacheCost, inputUSD: number | undefined): string {
  const share = `${Math.round(100 * cache.relativeCost)} %`;
  if (inputUSD === undefined || !cache.pricesKnown) return share;
  const baseTokens = cache.relativeCost * cache.expectedSteps * cache.appendOnlyBaseTokens;
  return `${formatUSD((baseTokens * inputUSD) / 1_000_000)} (${share})`;
}
