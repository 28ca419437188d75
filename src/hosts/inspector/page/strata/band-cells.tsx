import type { VNode } from "preact";
import type { InsertedRow, ItemRow, MessageRow } from "../../view/types.ts";
import { itemLabel, type LabelSource, roleWord } from "../words/item-label.ts";
import { count } from "../words/numbers.ts";
import { FateBadge } from "./fate-badge.tsx";
import type { Band, Side } from "./lay-bands.ts";
import { sentShare } from "./sent-share.ts";

/** The cells of a band. What the eye sees by colour and place is said in words as well. */
export function BandCells({ band, source, compare }: BandCellsProps): VNode | null {
  switch (band.type) {
    case "item": {
      const { what, detail } = itemLabel(source, band.row, band.item);
      return (
        <>
          <Who row={band.row} isFirst={band.isFirst} />
          <FateBadge fate={band.item.fate} />
          <span class="what">
            <b>{what}</b> {detail}
          </span>
          <Track item={band.item} />
          <Size item={band.item} />
          {compare === "on" && band.itemB && (
            <>
              <FateBadge fate={band.itemB.fate} />
              <Track item={band.itemB} />
              <Size item={band.itemB} />
            </>
          )}
        </>
      );
    }
    case "empty":
      return (
        <>
          <Who row={band.row} isFirst />
          <span />
          <span class="what">nothing that takes room</span>
        </>
      );
    case "inserted":
      return <Inserted inserted={band.inserted} side={band.side} />;
    case "line":
      return null;
  }
}

export interface BandCellsProps {
  readonly band: Band;
  readonly source: LabelSource;
  readonly compare: "on" | "off";
}

function Who({ row, isFirst }: { readonly row: MessageRow; readonly isFirst: boolean }): VNode {
  const role = roleWord(row.role);
  if (!isFirst) {
    return (
      <span class="who">
        <span class="unseen">{`message ${count(row.index + 1)} ${role} `}</span>
      </span>
    );
  }
  return (
    <span class="who">
      <span class="unseen">message </span>
      <i>{count(row.index + 1)}</i> {role}
    </span>
  );
}

function Track({ item }: { readonly item: ItemRow }): VNode {
  return (
    <span class={`track ${item.fate}`}>
      <span class="sent" style={{ width: `${100 * sentShare(item)}%` }} />
      <span class="unseen"> {item.fate} </span>
    </span>
  );
}

function Size({ item }: { readonly item: ItemRow }): VNode {
  return (
    <span class="size">
      {count(item.tokens)}
      {item.keptTokens !== item.tokens && (
        <>
          {" → "}
          <b>{count(item.keptTokens)}</b>
        </>
      )}
      <span class="unseen"> tokens{item.reason !== undefined && `. ${item.reason}`}</span>
    </span>
  );
}

function Inserted({ inserted, side }: { readonly inserted: InsertedRow; readonly side: Side }): VNode {
  return (
    <>
      <span class="who">new</span>
      <span class="badge inserted" aria-hidden="true">
        +
      </span>
      <span class="what">
        <b>{inserted.kind === "other" ? inserted.role : inserted.kind}</b>{" "}
        {inserted.text.slice(0, EXCERPT_CHARS)}
      </span>
      {side === "b" && (
        <>
          <span />
          <span />
          <span />
        </>
      )}
      <span class="track">
        <span class="sent inserted" />
      </span>
      <span class="size">
        +{count(inserted.tokens)}
        <span class="unseen"> tokens. {inserted.about}</span>
      </span>
    </>
  );
}

const EXCERPT_CHARS = 160;
