import type { VNode } from "preact";
import type { ItemRow } from "../../view/types.ts";
import type { Band } from "../state/band-layout.ts";
import { FateBadge } from "../words/fates.tsx";
import { count } from "../words/numbers.ts";
import { moment } from "../words/times.ts";
import { useTokens } from "../words/token-scale.ts";

/** Explains a band: reason, stage, saving, handle. */
export function HoverCard({ band, topPx, heightPx, compare }: HoverCardProps): VNode | null {
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
