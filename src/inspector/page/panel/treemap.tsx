import type { ComponentClass } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { kindOf } from "../../view/kinds.ts";
import type { InspectedSession, KindTokens, MessageRow, WindowView } from "../../view/types.ts";
import { memo } from "../elements/memo.tsx";
import type { ListFilter } from "../state/band-layout.ts";
import { KIND_WORDS, kindClass } from "../window/window-head.tsx";
import { inProject } from "../words/item-label.ts";
import { plural } from "../words/numbers.ts";
import { useTokens } from "../words/token-scale.ts";
import type { Picks } from "./pick.tsx";

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
