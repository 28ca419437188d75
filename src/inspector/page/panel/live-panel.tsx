import type { VNode } from "preact";
import { explainReason } from "../../view/explain-reason.ts";
import {
  cacheHitShare,
  type LiveEntry,
  type LiveFork,
  type LiveState,
  type LiveTotals,
  type OmittedItem,
} from "../../view/protocol.ts";
import { ColumnHeads } from "../elements/column-heads.tsx";
import type { FollowState } from "../state/load-session.ts";
import { count, percent, plural, short } from "../words/numbers.ts";
import { clock } from "../words/times.ts";
import { Pick, type Picks } from "./pick.tsx";

/** The details of a running session: requests, what was left out and why, forks, events. */
export function LivePanel({ state, ...picks }: Picks & { readonly state: LiveState }): VNode {
  const { own, children, left, forks, entries } = state;
  return (
    <>
      <section>
        <h2>Requests</h2>
        <table>
          <ColumnHeads names={["", "requests", "read anew", "from cache", "to cache", "written", "cost"]} />
          <tbody>
            <Requests name="this session" totals={own} />
            {children.requests > 0 && <Requests name="its forks" totals={children} />}
          </tbody>
        </table>
        <p class="dim">{percent(cacheHitShare(own), 1)} of what was sent came from the cache.</p>
      </section>
      <section>
        <h2>Not in the window, by Carryover's edits in force</h2>
        {left.length === 0 ? <p class="dim">Nothing.</p> : <Left left={left} {...picks} />}
      </section>
      <section>
        <h2>Forks</h2>
        {forks.length === 0 ? <p class="dim">None.</p> : <Forks forks={forks} />}
      </section>
      <section>
        <h2>What happened</h2>
        <ol class="events">
          {entries.toReversed().map((entry, at) => (
            <Entry key={entries.length - at} entry={entry} />
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

function Left({ left, ...picks }: Picks & { readonly left: readonly OmittedItem[] }): VNode {
  return (
    <table class="reasons">
      <ColumnHeads names={["why", "when", "tokens"]} />
      <tbody>
        {left.slice(0, MAX_LEFT).map(({ batchId, handle, stage, reason, atMs, savedTokens }) => (
          <tr key={`${batchId}/${handle}`}>
            <th scope="row">
              <Pick by="handle" value={handle} {...picks}>
                {explainReason({ stage, reason })} <span class="dim">{stage}</span>{" "}
                <span class="mono">{handle}</span>
              </Pick>
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
      <ColumnHeads names={["fork", "state", "calls", "tokens", "cost"]} />
      <tbody>
        {forks.map(({ id, number, title, inherit, state, error, calls, tokens, costUSD }) => (
          <tr key={id}>
            <th scope="row">
              #{number} {title} <span class="dim">{inherit}</span>
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
  const facts = [
    {
      label: "requests",
      value: count(own.requests),
      more: own.failedRequests > 0 && `${count(own.failedRequests)} failed`,
    },
    { label: "sent", value: `${short(sentTokens)} tokens` },
    { label: "from cache", value: percent(cacheHitShare(own), 1) },
    {
      label: "cost",
      value: `$${costUSD.toFixed(costUSD < 1 ? 4 : 2)}`,
      more: children.requests > 0 && "with forks",
    },
    {
      label: "has left",
      value: `${short(leftTokens)} tokens`,
      more: left.length > 0 && plural(left.length, "item"),
    },
  ];
  return (
    <section class="live" aria-label="Live">
      <p class="state" role="status">
        <span class={`dot ${connection === "connected" ? activity : "lost"}`} aria-hidden="true" />
        {connection === "connected" ? activity : connection}
      </p>
      <dl>
        {facts.map(({ label, value, more }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {value} {more && <span class="dim">{more}</span>}
            </dd>
          </div>
        ))}
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
            <Entry key={`${entry.atMs}/${entryText(entry)}`} entry={entry} />
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

function Fork({ fork }: { readonly fork: LiveFork }): VNode {
  return (
    <li class={fork.isLive ? "running" : ""} title={fork.error ?? fork.title}>
      <b>
        #{fork.number} {fork.state}
      </b>{" "}
      {fork.title}{" "}
      <span class="dim">{`${fork.inherit}, ${short(fork.tokens)} tokens, ${plural(fork.calls, "call")}`}</span>
    </li>
  );
}

function Entry({ entry }: { readonly entry: LiveEntry }): VNode {
  return (
    <li>
      <time>{clock(entry.atMs)}</time> {entryText(entry)}
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
