import type { VNode } from "preact";
import {
  CAUSE_ADVICE,
  causesByCost,
  costRows,
  dearest,
  priceSources,
  rewritingLine,
} from "../../../cost/describe-cost.ts";
import { CAUSE_NAMES, describeBreak, type SessionCost } from "../../../cost/explain-cost.ts";
import { formatUSD } from "../../../text/format-number.ts";
import type { Usage } from "../../../transcript/message.ts";
import type { InspectedSession, LostContent } from "../../view/types.ts";
import type { AskedSession } from "../engine/engine.ts";
import { messageRanges } from "../state/band-layout.ts";
import { Busy, ColumnHeads, count, inProject, percent, plural, short } from "../words/words.tsx";
import { LongText } from "./item-panel.tsx";
import { CompactionPanel } from "./preview-panels.tsx";
import { Pick, type Picks } from "./totals-panel.tsx";

/** What the session cost, and which requests did not find in the cache what was there before. */
export function CostPanel({ session, onMoment, ...picks }: CostPanelProps): VNode {
  const { cost } = session;
  if (cost === undefined)
    return (
      <p class="dim">This session does not record what its requests used, so nobody can say what it cost.</p>
    );
  const { totals, breaks } = cost;
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
          {rewritingLine(cost)}
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
      {breaks.length > 0 && <Causes cost={cost} answersOf={answersOf} {...picks} />}
      {breaks.length > 0 && (
        <section>
          <h2>What broke the cache</h2>
          <table class="reasons">
            <ColumnHeads names={["why", "rewritten", "dollars", "message"]} />
            <tbody>
              {dearest(breaks, MAX_BREAKS).map((found) => {
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
                        {describeBreak(found)}
                      </Pick>
                    </th>
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

interface CostPanelProps extends Picks {
  readonly session: InspectedSession;
  /** Goes to the moment after this many messages. */
  readonly onMoment: (upTo: number) => void;
}

const MAX_BREAKS = 100;

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
        <ColumnHeads names={["cause", "times", "rewritten", "dollars"]} />
        <tbody>
          {causesByCost(cost.breaks).map(({ cause, breaks, tokens, costUSD }) => (
            <tr key={cause}>
              <th scope="row">
                <Pick
                  by="messages"
                  value={answersOf(
                    cost.breaks.filter((each) => each.cause === cause).map(({ request }) => request),
                  )}
                  {...picks}
                >
                  {CAUSE_NAMES[cause]}
                </Pick>
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
export function LostPanel({ asked, upTo, lost, ...rest }: LostPanelProps): VNode {
  return (
    <>
      <h2>
        What compactions lost <Busy state={lost === undefined ? "working" : "done"} />
      </h2>
      {lost?.length === 0 && <p>Nothing: this session was never compacted.</p>}
      {lost?.map((one, at) => (
        <Compaction
          key={one.index}
          number={at + 1}
          lost={one}
          fromIndex={lost[at - 1]?.index ?? 0}
          session={asked.session}
          {...rest}
        />
      ))}
      <CompactionPanel asked={asked} upTo={upTo} />
    </>
  );
}

interface LostPanelProps extends Omit<CostPanelProps, "session"> {
  readonly asked: AskedSession;
  /** Unset until it was computed. */
  readonly lost: readonly LostContent[] | undefined;
  readonly upTo: number;
}

function Compaction({ number, lost, fromIndex, session, onMoment, ...picks }: CompactionProps): VNode {
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
        <Pick by="messages" value={messageRanges([[fromIndex, index - 1]])} {...picks}>
          {plural(summarizedMessages, "message")}
        </Pick>{" "}
        became a summary of {count(summary.length)} chars, {plural(keptMessages, "message")} stayed.{" "}
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
                <th scope="row">
                  <Pick by="file" value={path} title={path} {...picks}>
                    {inProject(path, session)}
                  </Pick>
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
                <button
                  type="button"
                  class="pick mono"
                  onClick={() => picks.dispatch({ type: "search", query: name.split("\n")[0] ?? name })}
                >
                  {name}
                </button>{" "}
                <span class="dim">{kind}</span>
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

interface CompactionProps extends CostPanelProps {
  readonly number: number;
  /** Where the window before it began. */
  readonly fromIndex: number;
  readonly lost: LostContent;
}

const MAX_NAMES = 50;
