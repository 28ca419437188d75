import type { VNode } from "preact";
import {
  cacheHitShare,
  type LiveEntry,
  type LiveFork,
  type LiveState,
  type LiveTotals,
  type OmittedItem,
} from "../../view/protocol.ts";
import { explainReason } from "../../view/recorded-rows.ts";
import type { FollowState } from "../state/load-session.ts";
import { clock, count, percent, plural, short } from "../words/words.tsx";

/** The details of a running session: requests, what was left out and why, forks, events. */
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

function Left({ left }: { readonly left: readonly OmittedItem[] }): VNode {
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

/** A running session in one strip: requests, cache, cost, forks, the last events. */
export function LiveStrip({ state, connection }: LiveNews): VNode {
  const { own, children, forks, entries, activity, left } = state;
  const sentTokens = own.inputTokens + own.cacheReadTokens + own.cacheWriteTokens;
  const leftTokens = left.reduce((sum, { savedTokens }) => sum + savedTokens, 0);
  const costUSD = own.costUSD + children.costUSD;
  return (
    <section class="live" aria-label="Live">
      <p class="state" role="status">
        <span class={`dot ${connection === "connected" ? activity : "lost"}`} aria-hidden="true" />
        {connection === "connected" ? activity : connection}
      </p>
      <dl>
        <Fact
          label="requests"
          value={count(own.requests)}
          more={own.failedRequests > 0 ? `${count(own.failedRequests)} failed` : ""}
        />
        <Fact label="sent" value={`${short(sentTokens)} tokens`} more="" />
        <Fact label="from cache" value={percent(cacheHitShare(own), 1)} more="" />
        <Fact
          label="cost"
          value={`$${costUSD.toFixed(costUSD < 1 ? 4 : 2)}`}
          more={children.requests > 0 ? "with forks" : ""}
        />
        <Fact
          label="has left"
          value={`${short(leftTokens)} tokens`}
          more={left.length > 0 ? plural(left.length, "item") : ""}
        />
      </dl>
      <ul class="forks" aria-label="Forks">
        {forks.slice(0, MAX_FORKS).map((fork) => (
          <Fork key={fork.id} fork={fork} />
        ))}
        {forks.length > MAX_FORKS && <li class="dim">{count(forks.length - MAX_FORKS)} more</li>}
      </ul>
      <ol class="events" aria-label="What happened last">
        {entries
          .slice(-MAX_ENTRIES)
          .toReversed()
          .map((entry) => (
            <li key={`${entry.atMs}/${entryText(entry)}`}>
              <time>{clock(entry.atMs)}</time> {entryText(entry)}
            </li>
          ))}
      </ol>
    </section>
  );
}

export interface LiveNews {
  readonly state: LiveState;
  readonly connection: FollowState;
}

const MAX_FORKS = 4;
const MAX_ENTRIES = 4;

interface FactProps {
  readonly label: string;
  readonly value: string;
  readonly more: string;
}

function Fact({ label, value, more }: FactProps): VNode {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {value} {more !== "" && <span class="dim">{more}</span>}
      </dd>
    </div>
  );
}

function Fork({ fork }: { readonly fork: LiveFork }): VNode {
  return (
    <li class={fork.isLive ? "running" : ""} title={fork.error ?? fork.title}>
      <b>
        #{fork.number} {fork.state}
      </b>{" "}
      {fork.title}{" "}
      <span class="dim">{`${fork.way}, ${short(fork.tokens)} tokens, ${plural(fork.calls, "call")}`}</span>
    </li>
  );
}

/** A journal entry in one line. */
function entryText(entry: LiveEntry): string {
  switch (entry.type) {
    case "request":
      return (
        entry.error ??
        `request: ${short(entry.inputTokens + entry.cacheReadTokens + entry.cacheWriteTokens)} tokens in, ${percent(cacheHitShare(entry), 1)} from the cache`
      );
    case "tool-output":
      return `${entry.tool}: ${short(entry.shownChars)} of ${short(entry.totalChars)} chars shown`;
    case "batch":
      return `${entry.step}: ${short(entry.tokensBefore)} → ${short(entry.tokensAfter)} tokens (${entry.reason})`;
    case "batch-gone":
      return entry.why === "undo" ? "an edit was taken back" : "an edit no longer applies";
    case "fork":
      return `fork #${entry.number}: ${entry.state} (${entry.because})`;
    case "note":
      return entry.text;
  }
}
