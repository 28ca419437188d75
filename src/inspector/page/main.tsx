import { type ComponentChildren, render, type VNode } from "preact";
import { useEffect, useErrorBoundary, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { priceOf, writePrice } from "../../models/model-price.ts";
import { formatUSD } from "../../text/format-number.ts";
import { applyLiveEvent, type LiveState, liveStateOf } from "../view/protocol.ts";
import type { InspectedSession, PolicyBudget, WindowView } from "../view/types.ts";
import { requestsWith } from "../view/window-over-time.ts";
import { Controls } from "./controls.tsx";
import { makeFocusable } from "./elements/focusable.ts";
import { createAnswerer, serveWorker, type Windows, type WorkerScope } from "./engine/answer.ts";
import { type AskedSession, type Engine, openWorker, startEngine, useAnswer } from "./engine/engine.ts";
import { Header } from "./header.tsx";
import { HelpDialog } from "./help-dialog.tsx";
import { ChildPanel } from "./panel/child-panel.tsx";
import { CostPanel } from "./panel/cost-panel.tsx";
import { ItemPanel } from "./panel/item-panel.tsx";
import { type LiveNews, LivePanel, LiveStrip } from "./panel/live-panel.tsx";
import { LostPanel } from "./panel/lost-panel.tsx";
import { PoliciesPanel } from "./panel/policies-panel.tsx";
import { TotalsPanel } from "./panel/totals-panel.tsx";
import { Treemap } from "./panel/treemap.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { type BandLayout, type LayoutOptions, layoutBands } from "./state/band-layout.ts";
import {
  type FollowSession,
  type FollowState,
  type LoadedSession,
  type LoadProgress,
  loadSession,
} from "./state/load-session.ts";
import { firstState, nextState, type PanelTab, windowOptions } from "./state/page-state.ts";
import type { CostOf } from "./strata/bands.tsx";
import { ListTools } from "./strata/list-tools.tsx";
import { Strata } from "./strata/strata.tsx";
import { useTheme } from "./theme.ts";
import { WindowHead } from "./window/window-head.tsx";
import { FATES, FateBadge } from "./words/fates.tsx";
import { count } from "./words/numbers.ts";
import { TokenScale } from "./words/token-scale.ts";
import { verdictOf } from "./words/verdict.ts";
import "./style/page.css";

// One script is both the page and its worker, so that a single-file page contains the engine once, under one hash.
if (typeof document === "undefined") serveWorker(globalThis as unknown as WorkerScope, createAnswerer());
else openPage(document.currentScript);

function openPage(script: HTMLOrSVGScriptElement | null): void {
  const engine = startEngine(() => {
    if (script instanceof HTMLScriptElement) return openWorker(script);
    throw new Error("the page does not know its own script");
  });
  const start = (): void => render(<App engine={engine} />, document.getElementById("app") ?? document.body);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}

/** The page: loads its session, then shows it; a failure is shown as text. */
function App({ engine }: { readonly engine: Engine }): VNode {
  const [progress, setProgress] = useState<LoadProgress>();
  const [loaded, setLoaded] = useState<LoadedSession>();
  const [problem, setProblem] = useState<string>();
  const [failure] = useErrorBoundary();
  useEffect(() => {
    loadSession(setProgress)
      .then(setLoaded)
      .catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  }, []);
  if (failure !== undefined) return <Notice title="The page failed" text={String(failure)} />;
  if (problem !== undefined) return <Notice title="The session could not be read" text={problem} />;
  if (loaded === undefined) return <Notice title="Reading the session" text={progressText(progress)} />;
  const { session, follow } = loaded;
  return follow === undefined ? (
    <Inspector asked={{ session, engine }} />
  ) : (
    <LiveInspector first={session} engine={engine} follow={follow} />
  );
}

function progressText(progress: LoadProgress | undefined): string {
  if (progress === undefined) return "";
  return `${count(progress.doneMessages)} of ${count(progress.totalMessages)} messages`;
}

function Notice({ title, text }: { readonly title: string; readonly text: string }): VNode {
  return (
    <main class="notice" aria-live="polite">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  );
}

interface LiveInspectorProps {
  readonly first: InspectedSession;
  readonly engine: Engine;
  readonly follow: FollowSession;
}

function LiveInspector({ first, engine, follow }: LiveInspectorProps): VNode {
  const [live, setLive] = useState<LiveState>(() => liveStateOf(first));
  const [connection, setConnection] = useState<FollowState>("reconnecting");
  useEffect(
    () => follow((event) => setLive((state) => applyLiveEvent(state, event)), setConnection),
    [follow],
  );
  return <Inspector asked={{ session: live.session, engine }} live={{ state: live, connection }} />;
}

/** The page of one session. State is a reducer (state/page-state.ts); every number is asked of the engine (engine/engine.ts). */
function Inspector({ asked, live }: InspectorProps): VNode {
  const { session } = asked;
  const { transcript, windowTokens } = session;
  const [state, dispatch] = useReducer(nextState, transcript.length, firstState);
  const { theme, toggle } = useTheme();
  const title = session.title ?? session.name;
  useEffect(() => {
    document.title = `${title} · Carryover`;
  }, [title]);
  useEffect(() => dispatch({ type: "grow", messages: transcript.length }), [transcript.length]);

  const isCompared = state.compare === "on";
  const known = useRef<PolicyBudget | undefined>(undefined);
  const defaults = known.current && { shared: known.current, windowTokens };
  const a = windowOptions(state, "a", defaults);
  const b = windowOptions(state, "b", defaults);
  const windows = useAnswer<"windows">(asked, { type: "windows", a, ...(isCompared && { b }) });
  known.current = windows.answer?.budget;
  const viewA = windows.answer?.a;
  const viewB = isCompared ? windows.answer?.b : undefined;
  const verdict = useMemo(() => (viewA === undefined ? "" : verdictOf(viewA, session)), [viewA, session]);
  const { answer: lost } = useAnswer<"lost">(asked, { type: "lost" });
  const { answer: overTime } = useAnswer<"over-time">(asked, { type: "over-time" });
  const carried = useMemo(() => overTime && requestsWith(overTime), [overTime]);
  const layout = useLayout({ a: viewA, b: viewB, windowTokens, list: state.list, requestsWith: carried });
  const costOf = useMemo(
    () =>
      state.list.sort === "cost" && carried ? itemCosts(session, carried, viewA?.size.scale ?? 1) : undefined,
    [state.list.sort, carried, session, viewA?.size.scale],
  );
  const columns = useMemo(() => columnsOf(windows.answer, viewB), [windows.answer, viewB]);
  const { answer: matches } = useAnswer<"search">(asked, { type: "search", query: state.query });
  const matchKeys = useMemo(() => new Set(matches?.map(({ key }) => key)), [matches]);
  const matchAt = matches?.findIndex(({ key }) => key === state.active);
  const step = (by: 1 | -1): void => {
    const keys = (matches ?? []).filter(({ index }) => index < state.upTo).map(({ key }) => key);
    const from = state.active === undefined ? -1 : keys.indexOf(state.active);
    const key = keys[from < 0 && by < 0 ? keys.length - 1 : (from + by + keys.length) % keys.length];
    if (key === undefined) return;
    if (layout?.places.has(key) === false) dispatch({ type: "list", list: { earlier: "open", filter: {} } });
    dispatch({ type: "open", key });
  };
  useShortcuts({ dispatch, step });
  if (windows.answer === undefined || viewA === undefined || layout === undefined) {
    return (
      <main class="notice">
        <h1>Measuring the session</h1>
      </main>
    );
  }
  const { policies, budget: shared } = windows.answer;
  const picks = { filter: state.list.filter, dispatch };
  const budget = {
    shared,
    budgetTokens: state.a.budgetTokens ?? shared.default,
    onBudget: (budgetTokens: number) => dispatch({ type: "set-budget", side: "a", budgetTokens }),
  };
  const onMoment = (upTo: number): void => dispatch({ type: "scrub", upTo, messages: transcript.length });
  const openedPlace = state.opened === undefined ? undefined : layout.places.get(state.opened);
  return (
    <TokenScale.Provider value={viewA.size.scale}>
      <div class="page">
        <Header
          session={session}
          theme={theme}
          onTheme={toggle}
          onHelp={() => dispatch({ type: "help", help: "open" })}
          search={{
            query: state.query,
            total: state.query === "" ? undefined : matches?.length,
            at: matchAt === undefined || matchAt < 0 ? undefined : matchAt,
            onSearch: (query) => dispatch({ type: "search", query }),
            onStep: step,
          }}
        />
        {live && <LiveStrip {...live} />}
        <WindowHead
          session={session}
          lost={lost}
          view={viewA}
          overTime={overTime}
          verdict={verdict}
          state={windows.state}
          upTo={state.upTo}
          filter={state.list.filter}
          dispatch={dispatch}
        />
        <Controls
          state={state}
          dispatch={dispatch}
          policies={policies}
          shared={shared}
          windowTokens={windowTokens}
          viewA={viewA}
          viewB={viewB}
        />
        <main class="main">
          <div class="left" aria-busy={windows.state === "working"}>
            <ListTools view={viewA} session={session} list={state.list} dispatch={dispatch} />
            {state.list.shape === "treemap" && <Treemap view={viewA} session={session} {...picks} />}
            <Strata
              layout={layout}
              costOf={costOf}
              source={session}
              active={state.active}
              opened={state.tab === "item" ? state.opened : undefined}
              matches={matchKeys}
              compare={viewB === undefined ? "off" : "on"}
              columns={columns}
              sticksToEnd={live !== undefined && state.follows}
              dispatch={dispatch}
            />
            <Legend />
          </div>
          <Panel
            tab={state.tab}
            tabs={live === undefined ? TABS : [...TABS, "live"]}
            onTab={(tab) => dispatch({ type: "show-tab", tab })}
            onClose={() => dispatch({ type: "close" })}
          >
            {state.tab === "fills" && (
              <TotalsPanel
                a={viewA}
                b={viewB}
                session={session}
                filter={state.list.filter}
                dispatch={dispatch}
              />
            )}
            {state.tab === "cost" && <CostPanel session={session} onMoment={onMoment} {...picks} />}
            {state.tab === "lost" && (
              <LostPanel asked={asked} lost={lost} upTo={state.upTo} onMoment={onMoment} {...picks} />
            )}
            {state.tab === "policies" && (
              <PoliciesPanel
                asked={asked}
                upTo={state.upTo}
                chosen={state.a.policy}
                onPolicy={(policy) => dispatch({ type: "choose-policy", side: "a", policy })}
                {...budget}
              />
            )}
            {state.tab === "item" && (
              <ItemPanel
                asked={asked}
                band={openedPlace === undefined ? undefined : layout.bands[openedPlace]}
                options={isCompared ? { a, b } : { a }}
                query={state.query}
              />
            )}
            {state.tab === "live" && live && <LivePanel state={live.state} {...picks} />}
            {state.tab === "child" && <ChildPanel asked={asked} upTo={state.upTo} {...budget} />}
          </Panel>
        </main>
        {state.help === "open" && <HelpDialog onClose={() => dispatch({ type: "help", help: "closed" })} />}
      </div>
    </TokenScale.Provider>
  );
}

interface LayoutInput extends Required<Pick<LayoutOptions, "b" | "windowTokens" | "list">> {
  readonly a: WindowView | undefined;
  readonly requestsWith: LayoutOptions["requestsWith"] | undefined;
}

/** Estimated cost of items so far: written to the cache once, then read by every request that contained them. */
function itemCosts(session: InspectedSession, carried: (index: number) => number, scale: number): CostOf {
  const model = session.model ?? session.transcript.findLast((message) => message.model)?.model?.id;
  const price = model === undefined ? undefined : priceOf({ id: model }, { rows: session.models });
  return (row, { tokens }) => {
    const requests = carried(row.index);
    if (price === undefined || requests === 0) return `${count(requests)}×`;
    const costUSD = (tokens * scale * (writePrice(price) + price.cacheRead * (requests - 1))) / 1_000_000;
    return `${formatUSD(costUSD)} · ${count(requests)}×`;
  };
}

/** The layout of a view; bands that did not change stay the same objects. */
function useLayout({ a, b, windowTokens, list, requestsWith: carried }: LayoutInput): BandLayout | undefined {
  const last = useRef<BandLayout | undefined>(undefined);
  return useMemo(() => {
    const more = carried && { requestsWith: carried };
    last.current = a && layoutBands(a, { b, windowTokens, list, last: last.current, ...more });
    return last.current;
  }, [a, b, windowTokens, list, carried]);
}

const TABS: readonly PanelTab[] = ["fills", "cost", "lost", "child", "policies", "item"];

function columnsOf(windows: Windows | undefined, b: WindowView | undefined): readonly string[] {
  if (windows === undefined) return [];
  const { policies, a } = windows;
  const label = ({ policy }: WindowView): string => policies.find(({ id }) => id === policy)?.label ?? policy;
  if (b !== undefined) return [`A: ${label(a)}`, `B: ${label(b)}`];
  return [a.policy === "as-sent" ? "in the window" : `in the window · ${label(a)}`];
}

interface InspectorProps {
  readonly asked: AskedSession;
  /** Set while the session is followed. */
  readonly live?: LiveNews;
}

/** The side panel with its tabs. */
function Panel({ tab, tabs, onTab, onClose, children }: PanelProps): VNode {
  const step = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside class={`panel ${tab}`} aria-label="Details">
      <div class="tabs" role="tablist" aria-label="Details" onKeyDown={step}>
        {tabs.map((id) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={id === tab}
            aria-controls="panel-body"
            tabIndex={id === tab ? 0 : -1}
            onClick={() => onTab(id)}
          >
            {LABELS[id]}
          </button>
        ))}
      </div>
      {tab === "item" && (
        <button type="button" class="close" onClick={onClose}>
          Close
        </button>
      )}
      <div id="panel-body" class="body" role="tabpanel" aria-labelledby={`tab-${tab}`} ref={makeFocusable}>
        {children}
      </div>
    </aside>
  );
}

interface PanelProps {
  readonly tab: PanelTab;
  readonly tabs: readonly PanelTab[];
  readonly onTab: (tab: PanelTab) => void;
  /** Closes the text; on a small screen it covers the list. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

const LABELS: Readonly<Record<PanelTab, string>> = {
  fills: "Fills",
  cost: "Cost",
  lost: "Lost",
  child: "Child",
  policies: "Policies",
  item: "Text",
  live: "Live",
};

/** What letters, textures, colours and lengths mean. */
function Legend(): VNode {
  return (
    <div class="legend">
      <ul aria-label="Status">
        {FATES.map(({ fate, about }) => (
          <li key={fate} title={about}>
            <FateBadge fate={fate} />
            <span class={`swatch track ${fate}`} aria-hidden="true">
              <span class="sent" />
            </span>
            {fate}
          </li>
        ))}
      </ul>
      <p>
        Longer: more tokens. Colour: what it is, as above. Solid: in the window. Textured: not in the window.
      </p>
    </div>
  );
}
