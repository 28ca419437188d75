import { groupBy } from "../../text/group-by.ts";
import type { Edit, HideMessage, HidePart, ReplacePart } from "../../transcript/edit.ts";
import { compactionPart, type Message, type MessageId, type Transcript } from "../../transcript/message.ts";
import type { Part } from "../../transcript/part.ts";
import type { PolicyRun } from "./policies.ts";
import {
  countMedia,
  type EditReason,
  explainReason,
  fateOfItems,
  fateOfReason,
  inputText,
  isCompactionSummary,
  MEDIA_TOKENS,
  nothingKept,
  outputText,
  partTexts,
  type RecordedRows,
  withRemainder,
} from "./recorded-rows.ts";
import type {
  Fate,
  InsertedRow,
  ItemRow,
  ItemSide,
  MessageRow,
  NamedTotal,
  PolicyId,
  ReasonTotal,
  Sizes,
  WindowView,
} from "./types.ts";

/** Makes the rows of one policy's run. A row whose message has the same edits as in the run before is the same object. */
export type WindowRows = (run: PolicyRun) => readonly MessageRow[];

export function createWindowRows(recorded: RecordedRows): WindowRows {
  const hiddenRows = new WeakMap<MessageRow, { readonly hide: HideMessage; readonly row: MessageRow }>();
  const changedRows = new WeakMap<MessageRow, MessageRow>();
  const updateItem = createItemUpdater(recorded);

  function hiddenRow(row: MessageRow, hide: HideMessage): MessageRow {
    const { stage, reason } = hide;
    const last = hiddenRows.get(row);
    if (last?.hide.stage === stage && last.hide.reason === reason) return last.row;
    const items = row.items.map((item) =>
      isHidden(item) ? item : withRemainder(item, nothingKept({ stage, reason })),
    );
    const made = withItems(row, items);
    hiddenRows.set(row, { hide, row: made });
    return made;
  }

  function changedRow(row: MessageRow, items: readonly ItemRow[]): MessageRow {
    const last = changedRows.get(row);
    if (last?.items.every((item, index) => item === items[index])) return last;
    const made = withItems(row, items);
    changedRows.set(row, made);
    return made;
  }

  return ({ source, left, edits }) => {
    const rows = source.map((message, index) => recorded.rowOf(message, index));
    if (edits.length === 0) return rows;
    const leftById = new Map(left.map((message) => [message.id, message]));
    const hides = new Map(
      edits.flatMap((edit) => (edit.type === "hide-message" ? [[edit.messageId, edit] as const] : [])),
    );
    // Edits of parts count only where the message is still sent.
    const parts = groupBy(
      edits.filter(isPartEdit).filter((edit) => leftById.has(edit.messageId)),
      ({ messageId }) => messageId,
    );
    return rows.map((row, index) => {
      const before = source[index] as Message;
      const after = leftById.get(before.id);
      if (after === before) return row;
      if (after !== undefined) {
        const own = parts.get(before.id) ?? [];
        return changedRow(
          row,
          row.items.map((item) => updateItem(item, { before, after, edits: own })),
        );
      }
      const hide = hides.get(before.id);
      return hide === undefined ? row : hiddenRow(row, hide);
    });
  };
}

/** True for what was already hidden when it was recorded; it keeps that reason. */
function isHidden({ fate, keptTokens }: ItemRow): boolean {
  return fate === "hidden" && keptTokens === 0;
}

function isPartEdit(edit: Edit): edit is PartEdit {
  return edit.type === "hide-part" || edit.type === "replace-part";
}

function withItems(row: MessageRow, items: readonly ItemRow[]): MessageRow {
  return {
    ...row,
    items,
    keptTokens: items.reduce((sum, { keptTokens }) => sum + keptTokens, 0),
    fate: fateOfItems(items),
  };
}

/** An edit of one part. */
type PartEdit = HidePart | ReplacePart;

/** A message that is still sent, with the edits of its parts. */
interface ChangedMessage {
  readonly before: Message;
  readonly after: Message;
  readonly edits: readonly PartEdit[];
}

/** Gives an item after the edits of its message; the same object as long as text, reason and fate stay the same. */
function createItemUpdater(recorded: RecordedRows): (item: ItemRow, changed: ChangedMessage) => ItemRow {
  const items = new WeakMap<ItemRow, Remembered>();

  function remembered(item: ItemRow, { text, why, fate }: Omit<Remembered, "row">): ItemRow {
    const known = items.get(item);
    const last = known !== undefined && known.text === text ? known : undefined;
    if (last?.fate === fate && last.why.stage === why.stage && last.why.reason === why.reason)
      return last.row;
    const row =
      text === undefined
        ? withRemainder(item, nothingKept(why))
        : withRemainder(item, {
            fate,
            why,
            chars: text.length,
            // The same text may return with another reason; measuring it again would be the expensive part.
            tokens: last?.row.keptTokens ?? recorded.tokensOf(text),
          });
    items.set(item, { text, why, fate, row });
    return row;
  }

  return (item, { before, after, edits }) => {
    const partBefore = before.parts[item.partIndex];
    const partAfter = after.parts[item.partIndex];
    if (partBefore === undefined || partAfter === undefined || partBefore === partAfter) return item;
    const own = edits.length === 1 ? edits : edits.filter(({ partIndex }) => partIndex === item.partIndex);
    if (partAfter.agentVisible === false) {
      if (partBefore.agentVisible === false) return item;
      return remembered(item, { text: undefined, why: whyOf(own.findLast(isHide)), fate: "hidden" });
    }
    if (isSameSide(partBefore, partAfter, item.side)) return item;
    const edit = lastChange(partBefore, own, item.side);
    const why = whyOf(edit);
    const fate = edit?.type === "hide-part" ? "cleared" : fateOfReason(why.reason, "some");
    const media = countMedia(partAfter, "shown");
    if (item.side === "media" && (media > 0 || partAfter.type === "tool"))
      return withRemainder(item, { fate, why, chars: 0, tokens: media * MEDIA_TOKENS });
    return remembered(item, { text: textOf(after, partAfter, item.side), why, fate });
  };
}

interface Remembered {
  /** Undefined when nothing is left. */
  readonly text: string | undefined;
  readonly why: EditReason;
  readonly fate: Fate;
  readonly row: ItemRow;
}

function textOf(message: Message, part: Part, side: ItemSide): string {
  if (part.type === "tool") return side === "input" ? inputText(part, "shown") : outputText(part, "shown");
  return partTexts(message, part, "shown")[0]?.text ?? "";
}

function isHide(edit: PartEdit): boolean {
  return edit.type === "hide-part" && edit.what === "part";
}

function whyOf(edit: PartEdit | undefined): EditReason {
  return edit === undefined
    ? { stage: "unknown", reason: "unknown" }
    : { stage: edit.stage, reason: edit.reason };
}

/** The last edit that changed this side of a part; one edit may change both. */
function lastChange(before: Part, edits: readonly PartEdit[], side: ItemSide): PartEdit | undefined {
  if (edits.length <= 1) return edits[0];
  let current = before;
  let last = edits.at(-1);
  for (const edit of edits) {
    const next = edit.type === "replace-part" ? edit.part : cleared(current);
    if (!isSameSide(current, next, side)) last = edit;
    current = next;
  }
  return last;
}

function cleared(part: Part): Part {
  return part.type === "tool" && part.clearedAt === undefined ? { ...part, clearedAt: 0 } : part;
}

function isSameSide(before: Part, after: Part, side: ItemSide): boolean {
  if (side === "media") return countMedia(before, "shown") === countMedia(after, "shown");
  if (before.type === "text" && after.type === "text") return before.text === after.text;
  if (before.type !== "tool" || after.type !== "tool") return before === after;
  // The note about a cut may be rewritten while the input itself stays the same.
  if (side === "input") return before.input === after.input;
  return before.outcome === after.outcome && before.clearedAt === after.clearedAt;
}

/** The messages that a policy inserted, each with its place among the recorded ones. */
export function insertedRows(
  { source, left, edits }: PolicyRun,
  { tokensOf }: RecordedRows,
): readonly InsertedRow[] {
  const inserts = edits.filter((edit) => edit.type === "insert-message");
  if (inserts.length === 0) return [];
  const places = placesOf(left, source);
  return inserts.map(({ message, stage, reason }) => {
    const text = message.parts
      .flatMap((part) => partTexts(message, part, "shown"))
      .map((each) => each.text)
      .join("\n");
    return {
      beforeIndex: places.get(message.id) ?? 0,
      id: message.id,
      role: message.role,
      kind: kindOf(message),
      text,
      chars: text.length,
      tokens: tokensOf(text),
      stage,
      reason,
      about: explainReason({ stage, reason }),
    };
  });
}

function kindOf(message: Message): InsertedRow["kind"] {
  if (isCompactionSummary(message) || message.metadata?.kind === "tool_summary") return "summary";
  return compactionPart(message) === undefined ? "other" : "marker";
}

/** The index of the recorded message before which each inserted one stands. */
function placesOf(left: Transcript, source: Transcript): ReadonlyMap<MessageId, number> {
  const indexes = new Map(source.map(({ id }, index) => [id, index]));
  const places = new Map<MessageId, number>();
  let next = source.length;
  for (const { id } of left.toReversed()) {
    const index = indexes.get(id);
    if (index === undefined) places.set(id, next);
    else next = index;
  }
  return places;
}

/** Sums up a view of a policy; only rows that differ from the policy's last view are counted anew. */
export type WindowTotaller = (
  policy: PolicyId,
  rows: readonly MessageRow[],
  inserted: readonly InsertedRow[],
) => WindowTotals;

export function createWindowTotals(): WindowTotaller {
  const last = new Map<PolicyId, Sums>();
  return (policy, rows, inserted) => {
    const sums = last.get(policy) ?? {
      rows: [],
      whole: nothing(),
      fates: new Map(),
      tools: new Map(),
      files: new Map(),
      reasons: new Map(),
    };
    last.set(policy, sums);
    const { rows: before } = sums;
    for (let index = 0; index < Math.max(rows.length, before.length); index++) {
      if (rows[index] === before[index]) continue;
      for (const item of before[index]?.items ?? []) addItem(sums, item, -1);
      for (const item of rows[index]?.items ?? []) addItem(sums, item, 1);
    }
    sums.rows = rows;
    return totalsOf(sums, inserted);
  };
}

type WindowTotals = Pick<WindowView, keyof Sizes | "byFate" | "byTool" | "byFile" | "byReason">;

/** Every fate, in the order of the totals. */
const FATES: readonly Fate[] = ["kept", "clipped", "cleared", "superseded", "summarized", "hidden"];

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Tally = Mutable<Sizes> & { items: number };

interface Sums {
  rows: readonly MessageRow[];
  readonly whole: Tally;
  readonly fates: Map<Fate, Tally>;
  readonly tools: Map<string, Tally>;
  readonly files: Map<string, Tally>;
  /** By stage, reason and fate. */
  readonly reasons: Map<string, Mutable<ReasonTotal>>;
}

function totalsOf(
  { whole, fates, tools, files, reasons }: Sums,
  inserted: readonly InsertedRow[],
): WindowTotals {
  const { items: _, ...sizes } = whole;
  for (const { chars, tokens } of inserted) {
    sizes.charsAfter += chars;
    sizes.tokensAfter += tokens;
  }
  return {
    ...sizes,
    byFate: FATES.flatMap((fate) => {
      const tally = fates.get(fate);
      return tally === undefined || tally.items === 0 ? [] : [{ fate, ...tally }];
    }),
    byTool: named(tools),
    byFile: named(files),
    byReason: [...reasons.values()]
      .filter(({ items }) => items > 0)
      .map((total) => ({ ...total }))
      .sort((a, b) => b.savedTokens - a.savedTokens || compareText(a.about, b.about)),
  };
}

function addItem({ whole, fates, tools, files, reasons }: Sums, item: ItemRow, sign: 1 | -1): void {
  add(whole, item, sign);
  add(at(fates, item.fate), item, sign);
  if (item.tool !== undefined) add(at(tools, item.tool), item, sign);
  if (item.path !== undefined) add(at(files, item.path), item, sign);
  if (item.stage !== undefined) addReason(reasons, item, sign);
}

function nothing(): Tally {
  return { items: 0, tokensBefore: 0, tokensAfter: 0, charsBefore: 0, charsAfter: 0 };
}

function at<K>(tallies: Map<K, Tally>, key: K): Tally {
  const tally = tallies.get(key) ?? nothing();
  tallies.set(key, tally);
  return tally;
}

function add(tally: Tally, { tokens, keptTokens, chars, keptChars }: ItemRow, sign: 1 | -1): void {
  tally.items += sign;
  tally.tokensBefore += sign * tokens;
  tally.tokensAfter += sign * keptTokens;
  tally.charsBefore += sign * chars;
  tally.charsAfter += sign * keptChars;
}

function addReason(reasons: Sums["reasons"], item: ItemRow, sign: 1 | -1): void {
  const { stage = "", reasonId = "", fate, savedChars, savedTokens } = item;
  const key = `${stage}\n${reasonId}\n${fate}`;
  let total = reasons.get(key);
  if (total === undefined) {
    const about = explainReason({ stage, reason: reasonId });
    total = { stage, reason: reasonId, fate, about, items: 0, savedChars: 0, savedTokens: 0 };
    reasons.set(key, total);
  }
  total.items += sign;
  total.savedChars += sign * savedChars;
  total.savedTokens += sign * savedTokens;
}

/** The largest first; ties by name, so that the order depends on nothing else. */
function named(tallies: ReadonlyMap<string, Tally>): readonly NamedTotal[] {
  return Array.from(tallies, ([name, tally]) => ({ name, ...tally }))
    .filter(({ items }) => items > 0)
    .sort((a, b) => b.tokensBefore - a.tokensBefore || compareText(a.name, b.name));
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
