import type { VNode } from "preact";
import { cacheHitShare, type LiveFork, type LiveState } from "../../view/live.ts";
import type { FollowState } from "../source/follow-events.ts";
import { clock, count, percent, plural, short } from "../words/numbers.ts";
import { entryText } from "./entry-text.ts";

/** What goes on in a session that runs: its requests, its cache, its cost, its forks, what happened last. */
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
