import { type ComponentClass, Fragment, type RefObject, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { InspectedSession, ItemRow, WindowView } from "../../view/types.ts";
import { KINDS } from "../../view/window-over-time.ts";
import {
  type Band,
  type BandLayout,
  bandAfterKeyPress,
  bandsBetween,
  type ListChoice,
  type ListFilter,
} from "../state/band-layout.ts";
import type { PageAction } from "../state/page-state.ts";
import { KIND_WORDS } from "../window/window-head.tsx";
import { count, FateBadge, inProject, type LabelSource, memo, moment, useTokens } from "../words/words.tsx";
import { BandRow, bandElementId, type CostOf, Minimap } from "./bands.tsx";

/** The session as a list of bands, oldest on top, one an item. Only the visible bands are in the document. */
export const Strata: ComponentClass<StrataProps> = memo(function Strata(props) {
  const { layout, source, active, opened, matches, compare, columns, costOf, dispatch, sticksToEnd } = props;
  const onPoint = (key: string): void => dispatch({ type: "point", key });
  const onOpen = (key: string): void => dispatch({ type: "open", key });
  const shown = useTokens();
  const scroller = useRef<HTMLDivElement>(null);
  const { topPx, heightPx, follow } = useScroll(scroller);
  const [hovered, setHovered] = useState<string>();
  const [isFocused, setFocused] = useState(false);
  useRevealed(scroller, layout, active);
  useStuckToEnd(scroller, layout, sticksToEnd);

  const { first, bands: visible } = bandsBetween(layout, topPx - OVERSCAN_PX, topPx + heightPx + OVERSCAN_PX);
  const slots = useSlots(visible.length);
  const activePlace = (active === undefined ? undefined : layout.places.get(active)) ?? -1;
  const isActiveShown = activePlace >= first && activePlace < first + visible.length;
  const pointedKey = hovered ?? (isFocused ? active : undefined);
  const shownKey = pointedKey === opened ? undefined : pointedKey;
  const shownPlace = shownKey === undefined ? undefined : layout.places.get(shownKey);
  const pointed = shownPlace === undefined ? undefined : layout.bands[shownPlace];
  const move = (event: KeyboardEvent): void => {
    const place = bandAfterKeyPress(event.key, layout, active);
    if (place === undefined) {
      if ((event.key !== "Enter" && event.key !== " ") || active === undefined) return;
      event.preventDefault();
      onOpen(active);
      return;
    }
    event.preventDefault();
    setHovered(undefined);
    onPoint(place);
  };
  return (
    <div class="strata" data-compare={compare}>
      <Minimap layout={layout} matches={matches} topPx={topPx} heightPx={heightPx} scroller={scroller} />
      <div
        class="scroller"
        ref={scroller}
        role="listbox"
        aria-label="Everything in the session, oldest first"
        tabIndex={0}
        aria-activedescendant={isActiveShown ? bandElementId(activePlace) : undefined}
        onScroll={follow}
        onKeyDown={move}
        onFocus={() => {
          setFocused(true);
          const nearest = visible.find(({ type }) => type !== "line");
          if (active === undefined && nearest !== undefined) onPoint(nearest.key);
        }}
        onBlur={() => setFocused(false)}
        onPointerOver={({ target }) => setHovered(keyOf(target))}
        onPointerLeave={() => setHovered(undefined)}
        onClick={({ target }) => {
          const key = keyOf(target);
          // A focused band would lose the focus when it scrolls out of the document.
          scroller.current?.focus();
          if (key !== undefined) onOpen(key);
        }}
      >
        <Columns names={columns} last={costOf === undefined ? "tokens" : "cost, requests"} />
        <div class="ground" role="presentation" style={{ height: `${layout.heightPx}px` }}>
          {layout.cached && (
            <div
              class="cached"
              role="presentation"
              style={{ top: `${layout.cached.topPx}px`, height: `${layout.cached.heightPx}px` }}
            >
              <span title="the same as in the last request: the provider has it in its cache, unless that was too long ago">
                cacheable {shown(layout.cached.tokens)}
              </span>
            </div>
          )}
          {visible.map((band, at) => (
            <BandRow
              key={(first + at) % slots}
              band={band}
              source={source}
              isActive={band.key === active}
              isMatch={matches.has(band.key)}
              place={first + at}
              total={layout.optionCount}
              compare={compare}
              mostTokens={layout.mostTokens}
              costOf={costOf}
            />
          ))}
        </div>
        {layout.bands.length === 0 && <p class="none">Nothing of this is in the messages.</p>}
      </div>
      {pointed && <HoverCard band={pointed} topPx={topPx} heightPx={heightPx} compare={compare} />}
    </div>
  );
});

/** What of the list is shown: its order, and filters by kind, tool and file; what a table filtered can be taken back here. */
export const ListTools: ComponentClass<ListToolsProps> = memo(function ListTools(props) {
  const { view, session, list, dispatch } = props;
  const { earlier, sort, shape, filter } = list;
  const select = (by: "kind" | "tool" | "file", options: readonly (readonly [string, string])[]): VNode => (
    <select
      id={`filter-${by}`}
      aria-label={`Only this ${by}`}
      value={filter[by] ?? ""}
      onChange={({ currentTarget }) => dispatch({ type: "filter", filter: { [by]: currentTarget.value } })}
    >
      <option value="">all {by}s</option>
      {options.map(([value, words]) => (
        <option key={value} value={value}>
          {words}
        </option>
      ))}
    </select>
  );
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <div class="list-tools">
      <select
        id="sort"
        aria-label="Order of the list"
        value={sort}
        onChange={({ currentTarget: { value } }) =>
          dispatch({ type: "list", list: { sort: value === "size" || value === "cost" ? value : "time" } })
        }
      >
        <option value="time">oldest first</option>
        <option value="size">largest first</option>
        <option value="cost">dearest first</option>
      </select>
      <button
        type="button"
        aria-pressed={shape === "treemap"}
        onClick={() => dispatch({ type: "list", list: { shape: shape === "rows" ? "treemap" : "rows" } })}
      >
        Treemap
      </button>
      {select(
        "kind",
        KINDS.map((kind) => [kind, KIND_WORDS[kind]]),
      )}
      {select(
        "tool",
        view.byTool.map(({ name }) => [name, name]),
      )}
      {select(
        "file",
        view.byFile.slice(0, MAX_FILES).map(({ name }) => [name, inProject(name, session)]),
      )}
      {earlier === "open" && (
        <button type="button" onClick={() => dispatch({ type: "list", list: { earlier: "folded" } })}>
          Fold earlier
        </button>
      )}
      {isFiltered && (
        <button
          type="button"
          id="clear-filter"
          onClick={() => dispatch({ type: "list", list: { filter: {} } })}
        >
          {filterWords(filter)} ✕<span class="unseen"> show everything</span>
        </button>
      )}
    </div>
  );
});

const MAX_FILES = 200;

function filterWords({ fate, reason, messages, handle }: ListFilter): string {
  if (messages !== undefined) return "some messages";
  return fate ?? handle ?? (reason === undefined ? "filtered" : "not in the window for one reason");
}

interface ListToolsProps {
  readonly view: WindowView;
  readonly session: InspectedSession;
  readonly list: ListChoice;
  readonly dispatch: (action: PageAction) => void;
}

interface StrataProps {
  readonly layout: BandLayout;
  readonly source: LabelSource;
  readonly active: string | undefined;
  /** The band that the panel shows; it gets no hover card. */
  readonly opened: string | undefined;
  /** Keys of the items that match the search. */
  readonly matches: ReadonlySet<string>;
  readonly compare: "on" | "off";
  /** Labels of the one or two policies that are shown. */
  readonly columns: readonly string[];
  /** What an item cost, in the order by cost. */
  readonly costOf: CostOf | undefined;
  /** Whether new messages scroll into view. */
  readonly sticksToEnd: boolean;
  readonly dispatch: (action: PageAction) => void;
}

const OVERSCAN_PX = 160;

function Columns({ names, last }: { readonly names: readonly string[]; readonly last: string }): VNode {
  return (
    <div class="columns" role="presentation">
      <span>message</span>
      <span />
      <span>what</span>
      {names.map((name, at) => (
        <Fragment key={name}>
          {at > 0 && <span />}
          <span>{name}</span>
          <span class="tokens">{last}</span>
        </Fragment>
      ))}
    </div>
  );
}

function keyOf(target: EventTarget | null): string | undefined {
  return target instanceof Element ? target.closest<HTMLElement>(".band")?.dataset.key : undefined;
}

/** The number of elements that are reused for bands, so that scrolling creates and removes few. */
function useSlots(needed: number): number {
  const slots = useRef(SLOT_STEP);
  if (needed > slots.current) slots.current = Math.ceil(needed / SLOT_STEP) * SLOT_STEP;
  return slots.current;
}

const SLOT_STEP = 16;

type Scroller = RefObject<HTMLDivElement | null>;

interface Scroll {
  readonly topPx: number;
  readonly heightPx: number;
  readonly follow: () => void;
}

function useScroll(scroller: Scroller): Scroll {
  const [place, setPlace] = useState({ topPx: 0, heightPx: 800 });
  const follow = (): void => {
    const element = scroller.current;
    if (element !== null) setPlace({ topPx: element.scrollTop, heightPx: element.clientHeight });
  };
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    follow();
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ...place, follow };
}

/** Scrolls the active band into view. */
function useRevealed(scroller: Scroller, layout: BandLayout, active: string | undefined): void {
  useEffect(() => {
    const element = scroller.current;
    const place = active === undefined ? undefined : layout.places.get(active);
    const band = place === undefined ? undefined : layout.bands[place];
    if (element === null || band === undefined) return;
    const bottomPx = band.topPx + band.heightPx;
    if (band.topPx < element.scrollTop) element.scrollTop = band.topPx - EDGE_PX;
    else if (bottomPx > element.scrollTop + element.clientHeight) {
      element.scrollTop = bottomPx - element.clientHeight + EDGE_PX;
    }
  }, [active]);
}

const EDGE_PX = 40;

function useStuckToEnd(scroller: Scroller, layout: BandLayout, sticks: boolean): void {
  const wasAtEnd = useRef(sticks);
  const element = scroller.current;
  // Reading a height forces a layout, so it is not done at every move of a slider.
  if (sticks && element !== null)
    wasAtEnd.current = element.scrollTop + element.clientHeight >= element.scrollHeight - 2;
  useLayoutEffect(() => {
    if (sticks && wasAtEnd.current && scroller.current !== null) {
      scroller.current.scrollTop = scroller.current.scrollHeight;
    }
  }, [layout.heightPx, sticks]);
}

/** Explains a band: reason, stage, saving, handle. */
function HoverCard({ band, topPx, heightPx, compare }: HoverCardProps): VNode | null {
  const shown = useTokens();
  if (band.type !== "item" && band.type !== "inserted") return null;
  const bandPx = HEAD_PX + band.topPx - topPx;
  const belowPx = bandPx + Math.min(band.heightPx, CARD_BELOW_PX) + 2;
  const style =
    belowPx + CARD_PX < heightPx
      ? { top: `${belowPx}px` }
      : { bottom: `${Math.max(0, heightPx - bandPx + 2)}px` };
  return (
    <div class="card" role="presentation" style={style}>
      {band.type === "inserted" ? (
        <>
          <p>
            <b>{band.inserted.about}</b>
          </p>
          <dl>
            <dt>stage</dt>
            <dd>{band.inserted.stage}</dd>
            <dt>adds</dt>
            <dd>
              {count(band.inserted.chars)} chars, {shown(band.inserted.tokens)} tokens
            </dd>
          </dl>
        </>
      ) : (
        <>
          <Why item={band.item} name={compare === "on" ? "A" : undefined} />
          {compare === "on" && band.itemB && <Why item={band.itemB} name="B" />}
          <dl>
            <dt>handle</dt>
            <dd class="mono">{band.item.handle}</dd>
            {band.row.atMs !== undefined && (
              <>
                <dt>time</dt>
                <dd>{moment(band.row.atMs)}</dd>
              </>
            )}
          </dl>
        </>
      )}
      <p class="hint">Click or Enter: before and after</p>
    </div>
  );
}

interface HoverCardProps {
  readonly band: Band;
  /** The visible part of the list. */
  readonly topPx: number;
  readonly heightPx: number;
  readonly compare: "on" | "off";
}

/** The height of the column heads. */
const HEAD_PX = 22;
/** The room that a card needs, and its largest distance from the top of its band. */
const CARD_PX = 230;
const CARD_BELOW_PX = 90;

function Why({ item, name }: { readonly item: ItemRow; readonly name: string | undefined }): VNode {
  const shown = useTokens();
  return (
    <>
      <p>
        {name !== undefined && <b>{name} </b>}
        <FateBadge fate={item.fate} /> <b>{item.fate}</b>
        {item.reason !== undefined && `: ${item.reason}`}
      </p>
      <dl>
        {item.stage !== undefined && (
          <>
            <dt>stage</dt>
            <dd>{item.stage}</dd>
          </>
        )}
        <dt>{item.savedChars > 0 ? "saves" : "takes"}</dt>
        <dd>
          {item.savedChars > 0
            ? `${count(item.savedChars)} of ${count(item.chars)} chars, ${shown(item.savedTokens)} tokens`
            : `${count(item.chars)} chars, ${shown(item.tokens)} tokens`}
        </dd>
      </dl>
    </>
  );
}
