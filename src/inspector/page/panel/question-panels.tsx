import type { VNode } from "preact";
import {
  CAUSE_ADVICE,
  CAUSE_NAMES,
  causesByCost,
  costRows,
  describeBreak,
  formatUSD,
  priceSources,
  rewritingLine,
} from "../../../cost/describe-cost.ts";
import { type CacheBreak, dearest, type SessionCost } from "../../../cost/explain-cost.ts";
import type { InspectedSession, LostContent, PolicyId } from "../../view/types.ts";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import {
  Busy,
  ColumnHeads,
  count,
  inProject,
  LongText,
  percent,
  plural,
  short,
  signed,
} from "../words/words.tsx";
import { CompactionPanel } from "./preview-panels.tsx";

/** What the session cost, and which requests did not find in the cache what was there before. */
export function CostPanel({ session, onMoment }: CostPanelProps): VNode {
  const { cost } = session;
  if (cost === undefined)
    return (
      <p class="dim">This session does not record what its requests used, so nobody can say what it cost.</p>
    );
  const { totals, breaks } = cost;
  const indexes = new Map(session.transcript.map(({ id }, index) => [id, index]));
  const indexOf = (found: CacheBreak): number | undefined =>
    indexes.get(cost.requests[found.request]?.messageId ?? "");
  return (
    <>
      <section>
        <h2>What it cost: {formatUSD(totals.costUSD)}</h2>
        <p>
          {plural(totals.requests, "request")}
          {totals.unpriced > 0 && `, ${plural(totals.unpriced, "request")} of them without a known price`}.{" "}
          {rewritingLine(cost)}
        </p>
        <table>
          <ColumnHeads names={["paid for", "tokens", "dollars"]} />
          <tbody>
            {costRows(cost).map(([name, costUSD, text]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{text.replace(/ tokens$/, "")}</td>
                <td class="strong">{formatUSD(costUSD)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {breaks.length > 0 && <Causes cost={cost} />}
      {breaks.length > 0 && (
        <section>
          <h2>What broke the cache</h2>
          <table class="reasons">
            <ColumnHeads names={["why", "rewritten", "dollars", "message"]} />
            <tbody>
              {dearest(breaks, MAX_BREAKS).map((found) => {
                const index = indexOf(found);
                return (
                  <tr key={found.request}>
                    <th scope="row">{describeBreak(found)}</th>
                    <td>{short(found.rewrittenTokens)}</td>
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

interface CostPanelProps {
  readonly session: InspectedSession;
  /** Goes to the moment after this many messages. */
  readonly onMoment: (upTo: number) => void;
}

const MAX_BREAKS = 100;

function Causes({ cost }: { readonly cost: SessionCost }): VNode {
  return (
    <section>
      <h2>By cause</h2>
      <table class="reasons">
        <ColumnHeads names={["cause", "times", "rewritten", "dollars"]} />
        <tbody>
          {causesByCost(cost.breaks).map(({ cause, breaks, tokens, costUSD }) => (
            <tr key={cause}>
              <th scope="row">
                {CAUSE_NAMES[cause]}
                {CAUSE_ADVICE[cause] !== undefined && <span class="dim">: {CAUSE_ADVICE[cause]}</span>}
              </th>
              <td>{count(breaks)}</td>
              <td>{short(tokens)}</td>
              <td class="strong">{formatUSD(costUSD)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** What the compactions of the session lost, and what another one would leave now. */
export function LostPanel({ asked, upTo, onMoment }: LostPanelProps): VNode {
  const { answer: lost, state } = useAnswer<"lost">(asked, { type: "lost" });
  return (
    <>
      <h2>
        What compactions lost <Busy state={state} />
      </h2>
      {lost?.length === 0 && <p>Nothing: this session was never compacted.</p>}
      {lost?.map((one, at) => (
        <Compaction key={one.index} number={at + 1} lost={one} session={asked.session} onMoment={onMoment} />
      ))}
      <CompactionPanel asked={asked} upTo={upTo} />
    </>
  );
}

interface LostPanelProps extends Pick<CostPanelProps, "onMoment"> {
  readonly asked: AskedSession;
  readonly upTo: number;
}

function Compaction({ number, lost, session, onMoment }: CompactionProps): VNode {
  const { index, tokensBefore, tokensAfter, summary, summarizedMessages, keptMessages } = lost;
  const { neededCount, keptCount, missing, readAgain } = lost;
  const lostCount = neededCount - keptCount;
  return (
    <section class="compacted">
      <h3>
        {number}. {tokensBefore === undefined ? "?" : count(tokensBefore)} →{" "}
        {tokensAfter === undefined ? "nothing was asked since" : `${count(tokensAfter)} tokens`}{" "}
        <button type="button" class="link" onClick={() => onMoment(index + 1)}>
          message {count(index + 1)}
        </button>
      </h3>
      <p>
        {plural(summarizedMessages, "message")} became a summary of {count(summary.length)} chars,{" "}
        {plural(keptMessages, "message")} stayed.{" "}
        {neededCount === 0 ? (
          "The next steps used nothing that only they had said."
        ) : (
          <>
            Of {plural(neededCount, "name")} and lines that the next 20 steps used, <b>{count(keptCount)}</b>{" "}
            ({percent(keptCount, neededCount)}) were still there, <b>{count(lostCount)}</b> were not.
          </>
        )}{" "}
        {readAgain.length > 0 && <b>{plural(readAgain.length, "file")} had to be read again.</b>}
      </p>
      {readAgain.length > 0 && (
        <table class="names">
          <ColumnHeads names={["read again", "message"]} />
          <tbody>
            {readAgain.slice(0, MAX_NAMES).map(({ path, index: at }) => (
              <tr key={path}>
                <th scope="row" title={path}>
                  {inProject(path, session)}
                </th>
                <td>
                  <button type="button" class="link" onClick={() => onMoment(at + 1)}>
                    {count(at + 1)}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {missing.length > 0 && (
        <details>
          <summary>Used next, and no longer there ({count(lostCount)})</summary>
          <ul class="missing">
            {missing.map(({ name, kind }) => (
              <li key={`${kind}/${name}`}>
                <span class="mono">{name}</span> <span class="dim">{kind}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      <details>
        <summary>Its summary ({count(summary.length)} chars)</summary>
        <LongText text={summary} label={`Summary of compaction ${number}`} />
      </details>
    </section>
  );
}

interface CompactionProps extends Pick<CostPanelProps, "session" | "onMoment"> {
  readonly number: number;
  readonly lost: LostContent;
}

const MAX_NAMES = 50;

/** What every policy would leave now; choosing one applies it. */
export function PoliciesPanel({ asked, upTo, chosen, onPolicy }: PoliciesPanelProps): VNode {
  const { answer: results, state } = useAnswer<"policies">(asked, { type: "policies", upTo });
  return (
    <>
      <h2>
        Which policy would leave how much <Busy state={state} />
      </h2>
      <p class="dim">
        Each with its usual budget, at the moment that is shown. Choose one to see what it does.
      </p>
      <table class="policies">
        <ColumnHeads names={["policy", "tokens", "change"]} />
        <tbody>
          {results?.map(({ id, label, about, tokens, changeTokens }) => (
            <tr key={id} class={id === chosen ? "chosen" : ""}>
              <th scope="row">
                <button type="button" class="link" aria-pressed={id === chosen} onClick={() => onPolicy(id)}>
                  {label}
                </button>{" "}
                <span class="dim">{about}</span>
              </th>
              <td class="strong">{count(tokens)}</td>
              <td>{signed(changeTokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface PoliciesPanelProps {
  readonly asked: AskedSession;
  readonly upTo: number;
  readonly chosen: PolicyId;
  readonly onPolicy: (policy: PolicyId) => void;
}
