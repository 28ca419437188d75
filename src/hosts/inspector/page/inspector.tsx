import type { VNode } from "preact";
import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import type { WindowView } from "../view/types.ts";
import { Controls } from "./controls/controls.tsx";
import type { Windows } from "./engine/engine-messages.ts";
import { type AskedSession, useAnswer } from "./engine/use-answer.ts";
import { Header } from "./header.tsx";
import { HelpDialog } from "./help-dialog.tsx";
import { LivePanel } from "./live/live-panel.tsx";
import { type LiveNews, LiveStrip } from "./live/live-strip.tsx";
import { ChildPanel } from "./panel/child-panel.tsx";
import { CompactionPanel } from "./panel/compaction-panel.tsx";
import { ItemPanel } from "./panel/item-panel.tsx";
import { Panel } from "./panel/panel.tsx";
import { TotalsPanel } from "./panel/totals-panel.tsx";
import { firstState, nextState, type PanelTab, windowOptions } from "./state/page-state.ts";
import { useShortcuts } from "./state/use-shortcuts.ts";
import { useTheme } from "./state/use-theme.ts";
import { type BandLayout, type LayoutOptions, layBands } from "./strata/lay-bands.ts";
import { Legend } from "./strata/legend.tsx";
import { Strata } from "./strata/strata.tsx";

/** The page about one session: every number on it comes from the engine, run in this browser. */
export function Inspector({ asked, live }: InspectorProps): VNode {
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
  const a = windowOptions(state, "a");
  const b = windowOptions(state, "b");
  const windows = useAnswer<"windows">(asked, { type: "windows", a, ...(isCompared && { b }) });
  const viewA = windows.answer?.a;
  const viewB = isCompared ? windows.answer?.b : undefined;
  const layout = useLayout({ a: viewA, b: viewB, windowTokens });
  const columns = useMemo(() => columnsOf(windows.answer, viewB), [windows.answer, viewB]);
  const { answer: matches } = useAnswer<"search">(asked, { type: "search", query: state.query });
  const matchKeys = useMemo(() => new Set(matches?.map(({ key }) => key)), [matches]);
  const matchAt = matches?.findIndex(({ key }) => key === state.active);
  const step = (by: 1 | -1): void => {
    const keys = (matches ?? []).filter(({ index }) => index < state.upTo).map(({ key }) => key);
    const from = state.active === undefined ? -1 : keys.indexOf(state.active);
    const key = keys[from < 0 && by < 0 ? keys.length - 1 : (from + by + keys.length) % keys.length];
    if (key !== undefined) dispatch({ type: "point", key });
  };
  useShortcuts({
    onStep: step,
    onClose: () => dispatch({ type: "close" }),
    onHelp: () => dispatch({ type: "help", help: "open" }),
    onCompare: () => dispatch({ type: "compare" }),
  });
  if (windows.answer === undefined || viewA === undefined || layout === undefined) {
    return (
      <main class="notice">
        <h1>Measuring the session</h1>
      </main>
    );
  }
  const { policies } = windows.answer;
  const openedPlace = state.opened === undefined ? undefined : layout.places.get(state.opened);
  return (
    <div class="page">
      <Header
        session={session}
        view={viewA}
        state={windows.state}
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
      <Controls
        state={state}
        dispatch={dispatch}
        transcript={transcript}
        policies={policies}
        viewA={viewA}
        viewB={viewB}
      />
      <main class="main">
        <div class="left" aria-busy={windows.state === "working"}>
          <Strata
            layout={layout}
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
        >
          {state.tab === "totals" && <TotalsPanel a={viewA} b={viewB} session={session} />}
          {state.tab === "item" && (
            <ItemPanel
              asked={asked}
              band={openedPlace === undefined ? undefined : layout.bands[openedPlace]}
              options={isCompared ? { a, b } : { a }}
            />
          )}
          {state.tab === "live" && live && <LivePanel state={live.state} />}
          {state.tab === "child" && <ChildPanel asked={asked} upTo={state.upTo} />}
          {state.tab === "compaction" && <CompactionPanel asked={asked} upTo={state.upTo} />}
        </Panel>
      </main>
      {state.help === "open" && <HelpDialog onClose={() => dispatch({ type: "help", help: "closed" })} />}
    </div>
  );
}

interface LayoutInput extends Pick<LayoutOptions, "b" | "windowTokens"> {
  readonly a: WindowView | undefined;
}

/** The strata of a view; what did not change against the view before stays the same. */
function useLayout({ a, b, windowTokens }: LayoutInput): BandLayout | undefined {
  const last = useRef<BandLayout | undefined>(undefined);
  return useMemo(() => {
    last.current = a && layBands(a, { b, windowTokens, last: last.current });
    return last.current;
  }, [a, b, windowTokens]);
}

const TABS: readonly PanelTab[] = ["totals", "item", "child", "compaction"];

function columnsOf(windows: Windows | undefined, b: WindowView | undefined): readonly string[] {
  if (windows === undefined) return [];
  const { policies, a } = windows;
  const label = ({ policy }: WindowView): string => policies.find(({ id }) => id === policy)?.label ?? policy;
  if (b !== undefined) return [`A: ${label(a)}`, `B: ${label(b)}`];
  return [a.policy === "as-sent" ? "sent" : `sent · ${label(a)}`];
}

interface InspectorProps {
  readonly asked: AskedSession;
  /** Set while the session is followed. */
  readonly live?: LiveNews;
}
