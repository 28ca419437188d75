import type { VNode } from "preact";
import { explainReason } from "../../view/explain-reason.ts";
import type { LeftItem, LiveFork, LiveState, LiveTotals } from "../../view/live.ts";
import { cacheHitShare } from "../../view/live.ts";
import { clock, count, percent, plural } from "../words/numbers.ts";
import { entryText } from "./entry-text.ts";

/** Everything that is known of a session that runs: its requests, what left and why, its forks, what happened. */
export function LivePanel({ state }: { readonly state: LiveState }): VNode {
  const { own, children, left, forks, entries } = state;
  return (
    <>
      <section>
        <h2>Requests</h2>
        <table>
          <thead>
            <tr>
              <td />
              <th scope="col">requests</th>
              <th scope="col">read anew</th>
              <th scope="col">from cache</th>
              <th scope="col">to cache</th>
              <th scope="col">written</th>
              <th scope="col">cost</th>
            </tr>
          </thead>
          <tbody>
            <Requests name="this session" totals={own} />
            {children.requests > 0 && <Requests name="its forks" totals={children} />}
          </tbody>
        </table>
        <p class="dim">{percent(cacheHitShare(own), 1)} of what was sent came from the cache.</p>
      </section>
      <section>
        <h2>Left out by Carryover's edits in force</h2>
        {left.length === 0 ? <p class="dim">Nothing.</p> : <Left left={left} />}
      </section>
      <section>
        <h2>Forks</h2>
        {forks.length === 0 ? <p class="dim">None.</p> : <Forks forks={forks} />}
      </section>
      <section>
        <h2>What happened</h2>
        <ol class="events">
          {entries.toReversed().map((entry, at) => (
            <li key={entries.length - at}>
              <time>{clock(entry.atMs)}</time> {entryText(entry)}
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}

function Requests({ name, totals }: { readonly name: string; readonly totals: LiveTotals }): VNode {
  const { requests, failedRequests, inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, costUSD } =
    totals;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        {count(requests)}
        {failedRequests > 0 && <span class="dim"> ({count(failedRequests)} failed)</span>}
      </td>
      <td>{count(inputTokens)}</td>
      <td class="strong">{count(cacheReadTokens)}</td>
      <td>{count(cacheWriteTokens)}</td>
      <td>{count(outputTokens)}</td>
      <td class="strong">${costUSD.toFixed(4)}</td>
    </tr>
  );
}

function Left({ left }: { readonly left: readonly LeftItem[] }): VNode {
  return (
    <table class="reasons">
      <thead>
        <tr>
          <th scope="col">why</th>
          <th scope="col">when</th>
          <th scope="col">tokens</th>
        </tr>
      </thead>
      <tbody>
        {left.slice(0, MAX_LEFT).map(({ batchId, handle, stage, reason, atMs, savedTokens }) => (
          <tr key={`${batchId}/${handle}`}>
            <th scope="row">
              {explainReason({ stage, reason })} <span class="dim">{stage}</span>{" "}
              <span class="mono">{handle}</span>
            </th>
            <td>{clock(atMs)}</td>
            <td class="strong">{count(savedTokens)}</td>
          </tr>
        ))}
      </tbody>
      {left.length > MAX_LEFT && <caption>{plural(left.length - MAX_LEFT, "more item")}</caption>}
    </table>
  );
}

const MAX_LEFT = 200;

function Forks({ forks }: { readonly forks: readonly LiveFork[] }): VNode {
  return (
    <table class="reasons">
      <thead>
        <tr>
          <th scope="col">fork</th>
          <th scope="col">state</th>
          <th scope="col">calls</th>
          <th scope="col">tokens</th>
          <th scope="col">cost</th>
        </tr>
      </thead>
      <tbody>
        {forks.map(({ id, number, title, way, state, error, calls, tokens, costUSD }) => (
          <tr key={id}>
            <th scope="row">
              #{number} {title} <span class="dim">{way}</span>
              {error !== undefined && <div class="problem">{error}</div>}
            </th>
            <td class="strong">{state}</td>
            <td>{count(calls)}</td>
            <td>{count(tokens)}</td>
            <td>${costUSD.toFixed(4)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
