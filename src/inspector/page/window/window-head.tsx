import type { ComponentClass, VNode } from "preact";
import { useMemo } from "preact/hooks";
import { describeMiss, type SessionCost } from "../../../cost/explain-cost.ts";
import { formatUSD } from "../../../text/format-number.ts";
import { KINDS, scaleKinds, sumKinds } from "../../view/kinds.ts";
import type {
  InspectedSession,
  KindTokens,
  LostContent,
  WindowOverTime,
  WindowView,
} from "../../view/types.ts";
import { Busy } from "../elements/busy.tsx";
import { memo } from "../elements/memo.tsx";
import type { ListFilter } from "../state/band-layout.ts";
import type { PageAction, PanelTab } from "../state/page-state.ts";
import { count, percent, plural, short } from "../words/numbers.ts";
import { moment } from "../words/times.ts";
import { AreaChart, type ChartCosts } from "./area-chart.tsx";

/** The head of the page: how large the window is, what fills it now, and how it came to that. */
export function WindowHead(props: WindowHeadProps): VNode {
  const { session, view, overTime, lost, verdict, state, upTo, filter, dispatch } = props;
  // The budget of a Carryover session is the window of its model.
  const isSession = view.policy === "session" && view.budget !== undefined;
  const windowTokens = isSession ? (view.budget ?? session.windowTokens) : session.windowTokens;
  const windowKnown = isSession || session.windowKnown;
  const { tokens, source } = view.size;
  const freeTokens = windowTokens - tokens;
  const costs = useMemo(() => costsOf(session), [session]);
  const kinds = useMemo(() => kindsOf(view, overTime), [view, overTime]);
  return (
    <section class="window-head" aria-label="The window">
      <p class="figure">
        <b id="window-tokens">{count(tokens)}</b> of {count(windowTokens)} tokens
        {!windowKnown && " (window assumed)"},{" "}
        {source === "usage" ? "counted by the provider" : "estimated, without system prompt and tools"} ·{" "}
        {percent(tokens, windowTokens)} ·{" "}
        {freeTokens >= 0 ? `${short(freeTokens)} free` : `${short(-freeTokens)} too many`}
        <Busy state={state} />
        <span class="verdict dim">{verdict}</span>
      </p>
      <KindBar
        kinds={kinds}
        windowTokens={Math.max(windowTokens, tokens)}
        chosen={filter.kind}
        dispatch={dispatch}
      />
      <Answers session={session} lost={lost} view={view} kinds={kinds} dispatch={dispatch} />
      {overTime !== undefined && overTime.points.length > 0 && (
        <>
          <p class="over-time">
            <b>Window over time</b>{" "}
            <span class="dim">
              {plural(overTime.points.length, "request")} ·{" "}
              {plural(overTime.compactions.length, "compaction")}
              {session.cost && missesText(session.cost)} · drag to travel in time
            </span>
          </p>
          <AreaChart
            overTime={overTime}
            windowTokens={windowTokens}
            messages={session.transcript.length}
            upTo={upTo}
            dispatch={dispatch}
            costs={costs}
          />
        </>
      )}
      <TimeControl session={session} upTo={upTo} dispatch={dispatch} />
    </section>
  );
}

interface WindowHeadProps {
  readonly session: InspectedSession;
  readonly view: WindowView;
  /** Unset until it was computed. */
  readonly overTime: WindowOverTime | undefined;
  readonly lost: readonly LostContent[] | undefined;
  readonly verdict: string;
  /** `working` while a newer view is being computed. */
  readonly state: "working" | "done";
  readonly upTo: number;
  /** The filter of the list. */
  readonly filter: ListFilter;
  readonly dispatch: (action: PageAction) => void;
}

/** Three sentences for a first look at the page: what fills the window, what it cost, what was lost. Each leads to its tab. */
function Answers({ session, lost, view, kinds, dispatch }: AnswersProps): VNode | null {
  if (view.rows.length === 0) return null;
  const isFull = view.size.tokens > session.windowTokens * FULL_SHARE;
  const answers: readonly (readonly [PanelTab, string, string])[] = [
    ["fills", isFull ? "Why is it full?" : "What fills it?", fullText(view, kinds)],
    ["cost", "What did it cost?", costText(session.cost)],
    ["lost", "What was lost?", lost === undefined ? "…" : lostText(lost)],
  ];
  return (
    <ul class="answers" aria-label="In short">
      {answers.map(([tab, question, answer]) => (
        <li key={tab}>
          <button type="button" class="pick" onClick={() => dispatch({ type: "show-tab", tab })}>
            <b>{question}</b> {answer}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** From this share on the head explains why the window is full. */
const FULL_SHARE = 0.6;

interface AnswersProps extends Pick<WindowHeadProps, "session" | "lost" | "view" | "dispatch"> {
  readonly kinds: KindTokens;
}

/** The two kinds that fill the window most, and the tool that does. */
function fullText({ byTool, size }: WindowView, kinds: KindTokens): string {
  const share = (tokens: number): string => percent(tokens, size.tokens);
  const most = KINDS.toSorted((one, other) => kinds[other] - kinds[one]).slice(0, 2);
  const [tool] = byTool.toSorted((one, other) => other.tokensAfter - one.tokensAfter);
  const byMost = most
    .filter((kind) => kinds[kind] >= 1)
    .map((kind) => `${KIND_WORDS[kind]} ${share(kinds[kind])}`);
  const named =
    tool && tool.tokensAfter > 0
      ? `; most by the tool ${tool.name}, ${share(tool.tokensAfter * size.scale)}`
      : "";
  return `${byMost.join(", ")}${named}.`;
}

function costText(cost: SessionCost | undefined): string {
  if (cost === undefined) return "The file does not say.";
  const { totals, cacheMissCost, misses } = cost;
  if (totals.costUSD <= 0) return `${plural(totals.requests, "request")}; no price is known for this model.`;
  const again =
    misses.length === 0 ? "" : `, ${formatUSD(cacheMissCost.costUSD)} of it for ${missCount(misses)}`;
  return `${formatUSD(totals.costUSD)} in ${plural(totals.requests, "request")}${again}.`;
}

function lostText(lost: readonly LostContent[]): string {
  if (lost.length === 0) return "Nothing: it was never compacted.";
  const sum = (of: (one: LostContent) => number): number => lost.reduce((total, one) => total + of(one), 0);
  const files = sum(({ readAgain }) => readAgain.length);
  const names = sum(({ neededCount, keptCount }) => neededCount - keptCount);
  return `${plural(lost.length, "compaction")}: ${plural(names, "name")} and lines needed afterwards were gone, ${plural(files, "file")} read again.`;
}

/** The cache misses in a few words. */
function missesText({ misses, cacheMissCost, totals }: SessionCost): string {
  if (misses.length === 0) return "";
  const money =
    totals.costUSD > 0 ? ` (${formatUSD(cacheMissCost.costUSD)} of ${formatUSD(totals.costUSD)})` : "";
  return ` · ▲ ${missCount(misses)}, ${short(cacheMissCost.tokens)} tokens sent again${money}`;
}

function missCount({ length }: SessionCost["misses"]): string {
  return `${count(length)} cache ${length === 1 ? "miss" : "misses"}`;
}

/** The cost after each message, and the cache misses, for the chart. */
function costsOf({ cost, transcript }: InspectedSession): ChartCosts {
  if (cost === undefined) return { spent: [], misses: [] };
  const indexes = new Map(transcript.map(({ id }, index) => [id, index]));
  const spent: { index: number; costUSD: number }[] = [];
  let costUSD = 0;
  for (const request of cost.requests) {
    costUSD += request.costUSD ?? 0;
    const index = indexes.get(request.messageId ?? "");
    if (index !== undefined) spent.push({ index, costUSD });
  }
  const misses = cost.misses.flatMap((found) => {
    const index = indexes.get(cost.requests[found.request]?.messageId ?? "");
    const money = found.costUSD === undefined ? "" : `, ${formatUSD(found.costUSD)}`;
    const words = `cache miss: ${describeMiss(found)}, ${short(found.missedTokens)} tokens sent again${money}`;
    return index === undefined ? [] : [{ index, words }];
  });
  return { spent, misses };
}

/** What fills the window of a view, fitted into its size. */
function kindsOf(view: WindowView, overTime: WindowOverTime | undefined): KindTokens {
  const kinds = sumKinds(view.rows);
  for (const { tokens } of view.inserted) kinds.summary += tokens;
  return scaleKinds(kinds, { ...view.size, systemTokens: overTime?.systemTokens ?? 0 });
}

/** One bar: every kind with its share of the window, and what is free. A kind filters the list. */
const KindBar: ComponentClass<KindBarProps> = memo(function KindBar(props) {
  const { kinds, windowTokens, chosen, dispatch } = props;
  const shown = KINDS.filter((kind) => kinds[kind] >= 1);
  return (
    <>
      <div class="kind-bar" aria-hidden="true">
        {shown.map((kind) => (
          <button
            key={kind}
            type="button"
            tabIndex={-1}
            class={`kind ${kindClass(kind)}`}
            style={{ width: `${(100 * kinds[kind]) / windowTokens}%` }}
            title={`${KIND_WORDS[kind]}: ${count(kinds[kind])} tokens`}
            onClick={() => dispatch({ type: "filter", filter: { kind } })}
          />
        ))}
      </div>
      <ul class="kinds" aria-label="What fills the window">
        {shown.map((kind) => (
          <li key={kind}>
            <button
              type="button"
              class="pick"
              aria-pressed={chosen === kind}
              onClick={() => dispatch({ type: "filter", filter: { kind } })}
            >
              <span class={`swatch kind ${kindClass(kind)}`} aria-hidden="true" />
              {KIND_WORDS[kind]} <b>{short(kinds[kind])}</b>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
});

interface KindBarProps extends Pick<WindowHeadProps, "dispatch"> {
  readonly kinds: KindTokens;
  readonly windowTokens: number;
  /** The kind by which the list is filtered. */
  readonly chosen: string | undefined;
}

/** The class that gives a kind its colour and texture. */
export function kindClass(kind: keyof KindTokens): string {
  return `kind-${kind.replace(" ", "-")}`;
}

/** The kinds as people call them. */
export const KIND_WORDS: Readonly<Record<keyof KindTokens, string>> = {
  system: "system & tools",
  summary: "summary",
  user: "user",
  agent: "agent",
  reasoning: "reasoning",
  "tool input": "tool input",
  "tool output": "tool output",
  other: "other, not recorded",
};

/** The moment that is shown: a slider that lies over the picture, so that dragging, clicking and keys work on it. */
function TimeControl({ session, upTo, dispatch }: TimeControlProps): VNode {
  const messages = session.transcript.length;
  const atMs = session.transcript[upTo - 1]?.createdAt;
  const words = `message ${count(upTo)} of ${count(messages)}${atMs === undefined ? "" : `, ${moment(atMs)}`}`;
  return (
    <div class="time">
      <input
        id="time"
        type="range"
        aria-label="Time"
        min={Math.min(1, messages)}
        max={messages}
        step={1}
        value={upTo}
        disabled={messages < 2}
        aria-valuetext={words}
        onInput={({ currentTarget }) =>
          dispatch({ type: "scrub", upTo: currentTarget.valueAsNumber, messages })
        }
      />
      <output for="time">{words}</output>
    </div>
  );
}

type TimeControlProps = Pick<WindowHeadProps, "session" | "upTo" | "dispatch">;
