import type { VNode } from "preact";
import type { ItemRow } from "../../view/types.ts";
import { count, moment } from "../words/numbers.ts";
import { FateBadge } from "./fate-badge.tsx";
import type { Band } from "./lay-bands.ts";

/** Why a band is what it is: reason, stage, saving, handle. */
export function HoverCard({ band, topPx, heightPx, compare }: HoverCardProps): VNode | null {
  if (band.type === "line" || band.type === "empty") return null;
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
              {count(band.inserted.chars)} chars, {count(band.inserted.tokens)} tokens
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
  /** What of the strata is on the screen. */
  readonly topPx: number;
  readonly heightPx: number;
  readonly compare: "on" | "off";
}

/** The head of the columns, under which the bands begin. */
const HEAD_PX = 22;
/** About as much room as a card needs, and how far under the top of a band it is at most. */
const CARD_PX = 230;
const CARD_BELOW_PX = 90;

function Why({ item, name }: { readonly item: ItemRow; readonly name: string | undefined }): VNode {
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
            ? `${count(item.savedChars)} of ${count(item.chars)} chars, ${count(item.savedTokens)} tokens`
            : `${count(item.chars)} chars, ${count(item.tokens)} tokens`}
        </dd>
      </dl>
    </>
  );
}
