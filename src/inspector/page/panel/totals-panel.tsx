import type { ComponentChildren, ComponentClass, VNode } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type {
  InspectedSession,
  KindTokens,
  MessageRow,
  NamedTotal,
  Sizes,
  WindowView,
} from "../../view/types.ts";
import { kindOf } from "../../view/window-over-time.ts";
import { type ListFilter, reasonKey } from "../state/band-layout.ts";
import type { PageAction } from "../state/page-state.ts";
import { KIND_WORDS, kindClass } from "../window/window-head.tsx";
import {
  ColumnHeads,
  count,
  FATES,
  FateBadge,
  inProject,
  memo,
  percent,
  plural,
  signed,
  TokenScale,
  useTokens,
} from "../words/words.tsx";

/** Sums over the whole session: by status, why something is not in the window, by tool, by file. Every row filters the list. */
export const TotalsPanel: ComponentClass<TotalsPanelProps> = memo(({ a, b, session, filter, dispatch }) => {
  const picks = { filter, dispatch };
  const inFolder = (name: string): string => inProject(name, session);
  return (
    <>
      <FateTable a={a} b={b} {...picks} />
      <ReasonTable view={a} {...(b && { name: "A" })} {...picks} />
      {b && <ReasonTable view={b} name="B" {...picks} />}
      <NamedTable by="tool" a={a.byTool} b={b?.byTool} shown={(name) => name} {...picks} />
      <NamedTable by="file" a={a.byFile} b={b?.byFile} shown={inFolder} {...picks} />
    </>
  );
});

export interface Picks {
  /** The filter of the list. */
  readonly filter: ListFilter;
  readonly dispatch: (action: PageAction) => void;
}

interface TotalsPanelProps extends Views, Picks {
  readonly session: InspectedSession;
}

/** A row's name that filters the list by it, or no longer. */
export function Pick({ by, value, filter, dispatch, title, children }: PickProps): VNode {
  return (
    <button
      type="button"
      class="pick"
      title={title}
      aria-pressed={filter[by] === value}
      onClick={() => dispatch({ type: "filter", filter: { [by]: value } })}
    >
      {children}
    </button>
  );
}

interface PickProps extends Picks {
  readonly by: keyof ListFilter;
  readonly value: string;
  readonly title?: string;
  readonly children: ComponentChildren;
}

interface Views {
  readonly a: WindowView;
  readonly b: WindowView | undefined;
}

function FateTable({ a, b, ...picks }: Views & Picks): VNode {
  const rows = FATES.map(({ fate }) => ({
    fate,
    a: a.byFate.find((total) => total.fate === fate),
    b: b?.byFate.find((total) => total.fate === fate),
  })).filter((row) => row.a !== undefined || row.b !== undefined);
  return (
    <section>
      <h2>By status</h2>
      <table id="by-status">
        <Head first="status" hasB={b !== undefined} isByFate />
        <tbody>
          {rows.map((row) => (
            <tr key={row.fate} data-fate={row.fate}>
              <th scope="row">
                <Pick by="fate" value={row.fate} {...picks}>
                  <FateBadge fate={row.fate} /> {row.fate}
                </Pick>
              </th>
              {b === undefined && <td>{count(row.a?.items ?? 0)}</td>}
              <Cells a={row.a} b={row.b} hasB={b !== undefined} isByFate />
            </tr>
          ))}
          {[a, b].some((view) => view !== undefined && view.inserted.length > 0) && (
            <tr data-fate="new">
              <th scope="row">
                <span class="badge inserted" aria-hidden="true">
                  +
                </span>{" "}
                new
              </th>
              {b === undefined && <td>{count(a.inserted.length)}</td>}
              <Cells a={newSizes(a)} b={b && newSizes(b)} hasB={b !== undefined} isByFate />
            </tr>
          )}
        </tbody>
        <tfoot>
          {a.size.outsideTokens >= 1 && (
            <tr>
              <th scope="row">not in the messages</th>
              {b === undefined && <td />}
              <Cells a={outsideOf(a)} b={b && outsideOf(b)} hasB={b !== undefined} isByFate />
            </tr>
          )}
          <tr>
            <th scope="row">all</th>
            {b === undefined && (
              <td>{count(a.byFate.reduce((sum, { items }) => sum + items, a.inserted.length))}</td>
            )}
            <Cells a={wholeOf(a)} b={b && wholeOf(b)} hasB={b !== undefined} isByFate />
          </tr>
        </tfoot>
      </table>
    </section>
  );
}

/** What a policy puts in, such as a summary: nothing of it was there before. */
function newSizes({ inserted }: WindowView): Sizes {
  return {
    tokensBefore: 0,
    charsBefore: 0,
    tokensAfter: inserted.reduce((sum, { tokens }) => sum + tokens, 0),
    charsAfter: inserted.reduce((sum, { chars }) => sum + chars, 0),
  };
}

/** What system prompt, tools and thinking that was not recorded take: a policy changes nothing of it. */
function outsideOf({ size }: WindowView): Sizes {
  const estimated = size.outsideTokens / size.scale;
  return { tokensBefore: estimated, tokensAfter: estimated, charsBefore: 0, charsAfter: 0 };
}

/** Everything: in the window it is the number in the head of the page. */
function wholeOf(view: WindowView): Sizes {
  const { outsideTokens, scale, tokens } = view.size;
  return { ...view, tokensBefore: view.tokensBefore + outsideTokens / scale, tokensAfter: tokens / scale };
}

interface HeadProps {
  readonly first: string;
  readonly hasB: boolean;
  /** Which tokens have a status differs between policies, so a comparison shows only what is in the window. */
  readonly isByFate?: boolean;
}

function Head({ first, hasB, isByFate = false }: HeadProps): VNode {
  const tokens = isByFate ? (hasB ? [] : ["items", "tokens"]) : ["tokens"];
  const sent = hasB ? ["window A", "window B", "B − A"] : ["in window", "not"];
  return <ColumnHeads names={[first, ...tokens, ...sent]} />;
}

interface CellsProps extends Pick<HeadProps, "hasB" | "isByFate"> {
  readonly a: Sizes | undefined;
  readonly b: Sizes | undefined;
}

function Cells({ a, b, hasB, isByFate = false }: CellsProps): VNode {
  const scale = useContext(TokenScale);
  const shown = useTokens();
  const sentA = a?.tokensAfter ?? 0;
  const sentB = b?.tokensAfter ?? 0;
  const before = (a ?? b)?.tokensBefore ?? 0;
  return (
    <>
      {!(isByFate && hasB) && <td>{shown(before)}</td>}
      <td class="strong">{shown(sentA)}</td>
      {hasB && <td class="strong">{shown(sentB)}</td>}
      {hasB && <td>{signed(Math.round(sentB * scale) - Math.round(sentA * scale))}</td>}
      {!hasB && <td class="dim">{percent(before - sentA, before)}</td>}
    </>
  );
}

function ReasonTable({ view, name, ...picks }: ReasonTableProps): VNode {
  const shown = useTokens();
  const rows = view.byReason;
  return (
    <section>
      <h2>Why it is not in the window{name !== undefined && ` · ${name}`}</h2>
      {rows.length === 0 ? (
        <p class="dim">Everything that was said is in the window.</p>
      ) : (
        <table class="reasons">
          <ColumnHeads names={["reason", "items", "chars", "tokens"]} />
          <tbody>
            {rows.map(({ stage, reason, fate, about, items, savedChars, savedTokens }) => (
              <tr key={`${stage}/${reason}/${fate}`}>
                <th scope="row">
                  <Pick by="reason" value={reasonKey({ stage, reason, fate })} {...picks}>
                    <FateBadge fate={fate} /> {about} <span class="dim">{stage}</span>
                  </Pick>
                </th>
                <td>{count(items)}</td>
                <td>{count(savedChars)}</td>
                <td class="strong">{shown(savedTokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

interface ReasonTableProps extends Picks {
  readonly view: WindowView;
  readonly name?: string;
}

interface NamedTableProps extends Picks {
  readonly by: "tool" | "file";
  readonly a: readonly NamedTotal[];
  readonly b: readonly NamedTotal[] | undefined;
  readonly shown: (name: string) => string;
}

function NamedTable({ by, a, b, shown, ...picks }: NamedTableProps): VNode | null {
  const [isWhole, setWhole] = useState(false);
  if (a.length === 0) return null;
  const others = new Map(b?.map((total) => [total.name, total]));
  const totals = isWhole ? a.slice(0, MAX_NAMES) : a.slice(0, FIRST_NAMES);
  return (
    <section>
      <h2>By {by}</h2>
      <table class="names">
        <Head first={by} hasB={b !== undefined} />
        <tbody>
          {totals.map((total) => (
            <tr key={total.name}>
              <th scope="row">
                <Pick by={by} value={total.name} title={total.name} {...picks}>
                  {shown(total.name)}
                </Pick>
              </th>
              <Cells a={total} b={others.get(total.name)} hasB={b !== undefined} />
            </tr>
          ))}
        </tbody>
      </table>
      {a.length > FIRST_NAMES && (
        <button type="button" class="more" onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Fewer" : `${count(a.length - FIRST_NAMES)} more`}
        </button>
      )}
    </section>
  );
}

const FIRST_NAMES = 8;
const MAX_NAMES = 500;

/** What is in the window as areas: a block a tool or kind, in it an area a file. Each leads to its rows in the list. */
export const Treemap: ComponentClass<TreemapProps> = memo(({ view, session, filter, dispatch }) => {
  const box = useRef<HTMLUListElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const shown = useTokens();
  return (
    <ul class="treemap" ref={box} aria-label="What is in the window, by tool and file">
      {areasOf(view, size).map(({ key, name, kind, tokens, picks, x, y, width, height }) => (
        <li key={key} style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }}>
          <button
            type="button"
            class={`area ${kindClass(kind)}`}
            title={`${inProject(name, session)}: ${shown(tokens)} tokens`}
            aria-pressed={
              filter.kind === picks.kind && filter.tool === picks.tool && filter.file === picks.file
            }
            onClick={() => dispatch({ type: "list", list: { filter: picks } })}
          >
            {inProject(name, session)} <b>{shown(tokens)}</b>
          </button>
        </li>
      ))}
    </ul>
  );
});

interface TreemapProps extends Picks {
  readonly view: WindowView;
  readonly session: InspectedSession;
}

interface Part {
  readonly key: string;
  readonly name: string;
  readonly kind: keyof KindTokens;
  readonly picks: ListFilter;
  tokens: number;
}

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The areas of what is in the window, by tool or kind and in it by file. */
function areasOf(
  { rows }: { readonly rows: readonly MessageRow[] },
  { width, height }: Pick<Rectangle, "width" | "height">,
): readonly (Part & Rectangle)[] {
  const groups = new Map<string, Part & { readonly files: Map<string, Part> }>();
  for (const { items } of rows)
    for (const item of items) {
      if (item.keptTokens <= 0) continue;
      const kind = item.tool === undefined ? kindOf(item) : "tool output";
      const name = item.tool ?? KIND_WORDS[kind];
      const picks: ListFilter = item.tool === undefined ? { kind } : { tool: item.tool };
      const group = groups.get(name) ?? { key: name, name, kind, picks, tokens: 0, files: new Map() };
      groups.set(name, group);
      group.tokens += item.keptTokens;
      const key = `${name}/${item.path ?? ""}`;
      const byFile = item.path === undefined ? picks : { ...picks, file: item.path };
      const part = group.files.get(key) ?? { key, name: item.path ?? name, kind, picks: byFile, tokens: 0 };
      group.files.set(key, part);
      part.tokens += item.keptTokens;
    }
  return squarify([...groups.values()], { x: 0, y: 0, width, height }).flatMap(({ files, ...block }) => {
    const largest = [...files.values()].sort((one, other) => other.tokens - one.tokens);
    const rest = largest.slice(MAX_AREAS);
    const others = {
      ...block,
      key: `${block.key}/others`,
      name: `${block.name}: ${plural(rest.length, "other file")}`,
      tokens: rest.reduce((sum, { tokens }) => sum + tokens, 0),
    };
    return squarify([...largest.slice(0, MAX_AREAS), ...(rest.length > 0 ? [others] : [])], block);
  });
}

const MAX_AREAS = 24;

/** Fills a rectangle with areas as large as their tokens and as square as they can be, the largest first. */
function squarify<Value extends { readonly tokens: number }>(
  values: readonly Value[],
  { x, y, width, height }: Rectangle,
): readonly (Value & Rectangle)[] {
  const sorted = values.toSorted((one, other) => other.tokens - one.tokens);
  const total = sorted.reduce((sum, { tokens }) => sum + tokens, 0);
  if (sorted.length === 0 || total <= 0 || width <= 0 || height <= 0) return [];
  const isWide = width >= height;
  const short = Math.min(width, height);
  const worst = (count: number): number => {
    const row = sorted.slice(0, count);
    const sum = row.reduce((all, { tokens }) => all + tokens, 0);
    const long = (sum / total) * Math.max(width, height);
    return Math.max(
      ...row.map(({ tokens }) => Math.max(((tokens / sum) * short) / long, long / ((tokens / sum) * short))),
    );
  };
  let count = 1;
  while (count < sorted.length && worst(count + 1) <= worst(count)) count++;
  const row = sorted.slice(0, count);
  const sum = row.reduce((all, { tokens }) => all + tokens, 0);
  const long = (sum / total) * Math.max(width, height);
  let at = 0;
  const placed = row.map((value) => {
    const from = at;
    at += (value.tokens / sum) * short;
    return isWide
      ? { ...value, x, y: y + from, width: long, height: at - from }
      : { ...value, x: x + from, y, width: at - from, height: long };
  });
  const rest = isWide
    ? { x: x + long, y, width: width - long, height }
    : { x, y: y + long, width, height: height - long };
  return [...placed, ...squarify(sorted.slice(count), rest)];
}
