import type { VNode } from "preact";
import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { Inspection, WindowView } from "../view/types.ts";
import { Controls } from "./controls/controls.tsx";
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
import { useDeferred } from "./state/use-deferred.ts";
import { useShortcuts } from "./state/use-shortcuts.ts";
import { useTheme } from "./state/use-theme.ts";
import { layBands } from "./strata/lay-bands.ts";
import { Legend } from "./strata/legend.tsx";
import { Strata } from "./strata/strata.tsx";

/** The page about one session: every number on it comes from the engine, run here. */
export function Inspector({ inspection, live }: InspectorProps): VNode {
  const { session } = inspection;
  const { transcript, windowTokens } = session;
  const [state, dispatch] = useReducer(nextState, inspection, firstState);
  const { theme, toggle } = useTheme();
  const title = session.title ?? session.name;
  useEffect(() => {
    document.title = `${title} · Carryover`;
  }, [title]);
  useEffect(() => dispatch({ type: "grow", messages: transcript.length }), [transcript.length]);

  const isCompared = state.compare === "on";
  const a = windowOptions(state, "a");
  const b = windowOptions(state, "b");
  const viewA = useDeferred(() => inspection.inspectWindow(a), [inspection, a.policy, a.budget, a.upTo]);
  const comparedB = useDeferred(
    () => (isCompared ? inspection.inspectWindow(b) : undefined),
    [inspection, isCompared, b.policy, b.budget, b.upTo],
  );
  const viewB = isCompared ? comparedB : undefined;
  const layout = useMemo(
    () => viewA && layBands(viewA, { b: viewB, windowTokens }),
    [viewA, viewB, windowTokens],
  );
  const matches = useDeferred(
    () => (state.query === "" ? [] : inspection.search(state.query)),
    [inspection, state.query],
  );
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
  if (viewA === undefined || layout === undefined) {
    return (
      <main class="notice">
        <h1>Measuring the session</h1>
      </main>
    );
  }
  const openedPlace = state.opened === undefined ? undefined : layout.places.get(state.opened);
  return (
    <div class="page">
      <Header
        session={session}
        view={viewA}
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
      <Controls state={state} dispatch={dispatch} inspection={inspection} viewA={viewA} viewB={viewB} />
      <main class="main">
        <div class="left">
          <Strata
            layout={layout}
            source={session}
            active={state.active}
            opened={state.tab === "item" ? state.opened : undefined}
            matches={matchKeys}
            compare={viewB === undefined ? "off" : "on"}
            columns={columnsOf(inspection, viewA, viewB)}
            sticksToEnd={live !== undefined && state.follows}
            onPoint={(key) => dispatch({ type: "point", key })}
            onOpen={(key) => dispatch({ type: "open", key })}
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
              inspection={inspection}
              band={openedPlace === undefined ? undefined : layout.bands[openedPlace]}
              options={isCompared ? { a, b } : { a }}
            />
          )}
          {state.tab === "live" && live && <LivePanel state={live.state} />}
          {state.tab === "child" && <ChildPanel inspection={inspection} upTo={state.upTo} />}
          {state.tab === "compaction" && <CompactionPanel inspection={inspection} upTo={state.upTo} />}
        </Panel>
      </main>
      {state.help === "open" && <HelpDialog onClose={() => dispatch({ type: "help", help: "closed" })} />}
    </div>
  );
}

const TABS: readonly PanelTab[] = ["totals", "item", "child", "compaction"];

function columnsOf({ policies }: Inspection, a: WindowView, b: WindowView | undefined): readonly string[] {
  const label = ({ policy }: WindowView): string => policies.find(({ id }) => id === policy)?.label ?? policy;
  return b === undefined ? [`sent · ${label(a)}`] : [`A: ${label(a)}`, `B: ${label(b)}`];
}

interface InspectorProps {
  readonly inspection: Inspection;
  /** Set while the session is followed. */
  readonly live?: LiveNews;
}
