import type { VNode } from "preact";
import { cacheHitShare, type LiveEntry, type LiveFork, type LiveState } from "../view/live.ts";
import type { FollowState } from "./source/follow-events.ts";
import { count, percent, plural, short } from "./words/numbers.ts";

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
          label="left"
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
            <li key={`${entry.atMs}/${textOf(entry)}`}>
              <time>{clock(entry.atMs)}</time> {textOf(entry)}
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

function textOf(entry: LiveEntry): string {
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

function clock(atMs: number): string {
  return Number.isFinite(atMs) ? CLOCK.format(atMs) : "";
}

const CLOCK: Intl.DateTimeFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
