import type { ComponentClass, VNode } from "preact";
import { useContext, useState } from "preact/hooks";
import type { InspectedSession, NamedTotal, Sizes, WindowView } from "../../view/types.ts";
import { ColumnHeads } from "../elements/column-heads.tsx";
import { memo } from "../elements/memo.tsx";
import { reasonKey } from "../state/band-layout.ts";
import { FATES, FateBadge } from "../words/fates.tsx";
import { inProject } from "../words/item-label.ts";
import { count, percent, signed } from "../words/numbers.ts";
import { TokenScale, useTokens } from "../words/token-scale.ts";
import { Pick, type Picks } from "./pick.tsx";

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

interface TotalsPanelProps extends Views, Picks {
  readonly session: InspectedSession;
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

/** Tokens outside the messages (system prompt, tools, unrecorded thinking), which no policy changes. */
function outsideOf({ size }: WindowView): Sizes {
  const estimated = size.outsideTokens / size.scale;
  return { tokensBefore: estimated, tokensAfter: estimated, charsBefore: 0, charsAfter: 0 };
}

/** The total: the number in the head of the page. */
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
