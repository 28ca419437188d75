import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ItemPlace, ItemRow, ItemText, TextRange, WindowOptions } from "../../view/types.ts";
import { Busy } from "../elements/busy.tsx";
import { type AskedSession, useAnswer } from "../engine/engine.ts";
import type { Band, ItemBand, Side } from "../state/band-layout.ts";
import { FateBadge } from "../words/fates.tsx";
import { itemLabel, roleWord, shortened } from "../words/item-label.ts";
import { count } from "../words/numbers.ts";
import { useTokens } from "../words/token-scale.ts";
import { LongText } from "./long-text.tsx";

/** One item before and after the policy, with what was cut marked. */
export function ItemPanel({ asked, band, options, query }: ItemPanelProps): VNode {
  if (band === undefined || band.type === "line" || band.type === "folded" || band.type === "empty") {
    return (
      <p class="dim">
        Choose a band on the left, by a click or with Enter, to see its text before and after.
      </p>
    );
  }
  if (band.type === "inserted") {
    const { about, text, chars, tokens } = band.inserted;
    return (
      <>
        <h2>Put in by the policy</h2>
        <p>{about}</p>
        <h3>
          Text <Amount chars={chars} tokens={tokens} />
        </h3>
        <LongText text={text} label="Text that was put in" hits={occurrences(text, query)} />
      </>
    );
  }
  return <RecordedItem asked={asked} band={band} options={options} query={query} />;
}

interface ItemPanelProps {
  readonly asked: AskedSession;
  readonly band: Band | undefined;
  /** What is searched for: it is marked in the text. */
  readonly query: string;
  /** The window options of each side; B only while two policies are compared. */
  readonly options: Readonly<{ a: WindowOptions; b?: WindowOptions }>;
}

interface RecordedItemProps extends ItemPanelProps {
  readonly band: ItemBand;
}

function RecordedItem({ asked, band, options, query }: RecordedItemProps): VNode {
  const [chosen, setChosen] = useState<Side>("a");
  const side: Side = options.b === undefined ? "a" : chosen;
  const window = (side === "b" ? options.b : undefined) ?? options.a;
  const item = (side === "b" ? band.itemB : undefined) ?? band.item;
  const { row } = band;
  const { partIndex, side: itemSide } = item;
  const place: ItemPlace = { messageId: row.id, partIndex, side: itemSide };
  const { answer, answered, state } = useAnswer<"item">(asked, { type: "item", options: window, place });
  const texts = answered !== undefined && isSamePlace(answered.place, place) ? answer : undefined;
  const { what, detail } = itemLabel(asked.session, row, item);
  return (
    <>
      <h2>
        {what} <span class="detail">{shortened(detail, DETAIL_CHARS)}</span>
      </h2>
      <p class="facts">
        message {count(row.index + 1)} · {roleWord(row.role)} · <span class="mono">{item.handle}</span>
        <Busy state={state} />
      </p>
      {options.b !== undefined && <SideSwitch side={side} onSide={setChosen} />}
      <Why item={item} />
      {texts !== undefined && <Texts item={item} texts={texts} query={query} />}
    </>
  );
}

const DETAIL_CHARS = 80;

function isSamePlace(one: ItemPlace, other: ItemPlace): boolean {
  return one.messageId === other.messageId && one.partIndex === other.partIndex && one.side === other.side;
}

function Texts({ item, texts, query }: TextsProps): VNode {
  const { before, after, cuts, added } = texts;
  const amount = <Amount chars={item.chars} tokens={item.tokens} />;
  if (before === after) {
    return (
      <>
        <h3>The same before and after {amount}</h3>
        <LongText text={before} label="Text before and after" hits={occurrences(before, query)} />
      </>
    );
  }
  return (
    <div class="sides">
      <section>
        <h3>Before {amount}</h3>
        <LongText text={before} label="Text before" ranges={cuts} hits={occurrences(before, query)} />
      </section>
      <section>
        <h3>
          After <Amount chars={item.keptChars} tokens={item.keptTokens} />
        </h3>
        <LongText text={after} label="Text after" ranges={added} mark="added" />
      </section>
    </div>
  );
}

interface TextsProps extends Pick<ItemPanelProps, "query"> {
  readonly item: ItemRow;
  readonly texts: ItemText;
}

function SideSwitch({ side, onSide }: { readonly side: Side; readonly onSide: (side: Side) => void }): VNode {
  return (
    <fieldset class="switch">
      <legend>Policy</legend>
      {(["a", "b"] as const).map((name) => (
        <label key={name}>
          <input type="radio" name="item-side" checked={side === name} onChange={() => onSide(name)} />
          {name.toUpperCase()}
        </label>
      ))}
    </fieldset>
  );
}

function Why({ item }: { readonly item: ItemRow }): VNode {
  return (
    <p class="why">
      <FateBadge fate={item.fate} /> <b>{item.fate}</b>
      {item.reason !== undefined && `: ${item.reason}`}
      {item.stage !== undefined && <span class="dim"> · {item.stage}</span>}
    </p>
  );
}

function Amount({ chars, tokens }: { readonly chars: number; readonly tokens: number }): VNode {
  const shown = useTokens();
  return (
    <span class="amount">
      {count(chars)} chars, {shown(tokens)} tokens
    </span>
  );
}

/** Where a text contains what is searched for, ignoring case; at most so many places that a page can show them. */
function occurrences(text: string, query: string): readonly TextRange[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  const ranges: TextRange[] = [];
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(wanted); at !== -1 && ranges.length < MAX_HITS; ) {
    ranges.push({ start: at, end: at + wanted.length });
    at = lower.indexOf(wanted, at + wanted.length);
  }
  return ranges;
}

const MAX_HITS = 100;
