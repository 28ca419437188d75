import { type ComponentClass, Fragment, type RefObject, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { memo } from "../elements/memo.tsx";
import { type BandLayout, bandAfterKeyPress, bandsBetween } from "../state/band-layout.ts";
import type { PageAction } from "../state/page-state.ts";
import type { LabelSource } from "../words/item-label.ts";
import { useTokens } from "../words/token-scale.ts";
import { BandRow, bandElementId, type CostOf } from "./bands.tsx";
import { HoverCard } from "./hover-card.tsx";
import { Minimap } from "./minimap.tsx";

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
          // Focus the list instead of the band, which loses the focus when it scrolls out of the document.
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
