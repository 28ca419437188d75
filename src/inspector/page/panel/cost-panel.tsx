import type { VNode } from "preact";
import {
  CAUSE_ADVICE,
  cacheMissLine,
  causesByCost,
  costRows,
  mostExpensive,
  priceSources,
} from "../../../cost/describe-cost.ts";
import { CAUSE_NAMES, describeMiss, type SessionCost } from "../../../cost/explain-cost.ts";
import { formatUSD } from "../../../text/format-number.ts";
import type { Usage } from "../../../transcript/message.ts";
import type { InspectedSession } from "../../view/types.ts";
import { ColumnHeads } from "../elements/column-heads.tsx";
import { messageRanges } from "../state/band-layout.ts";
import { count, plural, short } from "../words/numbers.ts";
import { Pick, type Picks } from "./pick.tsx";

/** What the session cost, and which requests had cache misses. */
export function CostPanel({ session, onMoment, ...picks }: CostPanelProps): VNode {
  const { cost } = session;
  if (cost === undefined)
    return (
      <p class="dim">This session does not record what its requests used, so nobody can say what it cost.</p>
    );
  const { totals, misses } = cost;
  const indexes = new Map(session.transcript.map(({ id }, index) => [id, index]));
  const answerOf = (request: number): number | undefined =>
    indexes.get(cost.requests[request]?.messageId ?? "");
  const answersOf = (requests: readonly number[]): string =>
    messageRanges(
      requests.flatMap((request) => {
        const index = answerOf(request);
        return index === undefined ? [] : [[index, index] as const];
      }),
    );
  return (
    <>
      <section>
        <h2>What it cost: {formatUSD(totals.costUSD)}</h2>
        <p>
          {plural(totals.requests, "request")}
          {totals.unpriced > 0 && `, ${plural(totals.unpriced, "request")} of them without a known price`}.{" "}
          {cacheMissLine(cost)}
        </p>
        <table>
          <ColumnHeads names={["paid for", "tokens", "dollars"]} />
          <tbody>
            {costRows(cost).map(([name, costUSD, text]) => (
              <tr key={name}>
                <th scope="row">
                  <Pick by="messages" value={answersOf(requestsThat(cost, name))} {...picks}>
                    {name}
                  </Pick>
                </th>
                <td>{text.replace(/ tokens$/, "")}</td>
                <td class="strong">{formatUSD(costUSD)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {misses.length > 0 && <Causes cost={cost} answersOf={answersOf} {...picks} />}
      {misses.length > 0 && (
        <section>
          <h2>Cache misses</h2>
          <table class="reasons">
            <ColumnHeads names={["why", "tokens", "dollars", "message"]} />
            <tbody>
              {mostExpensive(misses, MAX_MISSES).map((found) => {
                const index = answerOf(found.request);
                const from = found.keptThrough === undefined ? 0 : (answerOf(found.keptThrough) ?? 0);
                return (
                  <tr key={found.request}>
                    <th scope="row">
                      <Pick
                        by="messages"
                        value={messageRanges([[from, index ?? from]])}
                        title="the messages that were sent again"
                        {...picks}
                      >
                        {describeMiss(found)}
                      </Pick>
                    </th>
                    <td>{short(found.missedTokens)}</td>
                    <td class="strong">{found.costUSD === undefined ? "?" : formatUSD(found.costUSD)}</td>
                    <td>
                      {index !== undefined && (
                        <button type="button" class="link" onClick={() => onMoment(index + 1)}>
                          {count(index + 1)}
                        </button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      )}
      <p class="dim">Prices: {priceSources(cost).join("; ") || "none known"}.</p>
    </>
  );
}

export interface CostPanelProps extends Picks {
  readonly session: InspectedSession;
  /** Goes to the moment after this many messages. */
  readonly onMoment: (upTo: number) => void;
}

const MAX_MISSES = 100;

/** The requests that paid for this row of the table. */
function requestsThat({ requests }: SessionCost, row: string): readonly number[] {
  const paid: Readonly<Record<string, (usage: Usage) => number>> = {
    "read from the cache": ({ cacheReadTokens }) => cacheReadTokens,
    "written to the cache": ({ cacheWriteTokens }) => cacheWriteTokens,
    "sent uncached": ({ inputTokens }) => inputTokens,
  };
  return requests.filter(({ usage }) => (paid[row]?.(usage) ?? 1) > 0).map(({ index }) => index);
}

interface CausesProps extends Picks {
  readonly cost: SessionCost;
  readonly answersOf: (requests: readonly number[]) => string;
}

function Causes({ cost, answersOf, ...picks }: CausesProps): VNode {
  return (
    <section>
      <h2>By cause</h2>
      <table class="reasons">
        <ColumnHeads names={["cause", "times", "tokens", "dollars"]} />
        <tbody>
          {causesByCost(cost.misses).map(({ cause, misses, tokens, costUSD }) => (
            <tr key={cause}>
              <th scope="row">
                <Pick
                  by="messages"
                  value={answersOf(
                    cost.misses.filter((each) => each.cause === cause).map(({ request }) => request),
                  )}
                  {...picks}
                >
                  {CAUSE_NAMES[cause]}
                </Pick>
                {CAUSE_ADVICE[cause] !== undefined && <span class="dim">: {CAUSE_ADVICE[cause]}</span>}
              </th>
              <td>{count(misses)}</td>
              <td>{short(tokens)}</td>
              <td class="strong">{formatUSD(costUSD)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
