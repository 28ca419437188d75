import type { Edit, HideMessage } from "../../../transcript/edit.ts";
import type { Message, MessageId } from "../../../transcript/message.ts";
import { changedItem, type PartEdit } from "./changed-item.ts";
import type { Why } from "./explain-reason.ts";
import type { PolicyRun } from "./policy-run.ts";
import { fateOfItems, gone, type RecordedRows, withLeft } from "./recorded-rows.ts";
import type { ItemRow, MessageRow } from "./types.ts";

/** Makes the rows of one policy. A row to which the same happened as the last time is the same object. */
export interface WindowRows {
  rowsOf(run: PolicyRun): readonly MessageRow[];
}

/** Knows no row at first. */
export function createWindowRows(recorded: RecordedRows): WindowRows {
  const goneRows = new Map<string, WeakMap<MessageRow, MessageRow>>();
  const changedRows = new WeakMap<MessageRow, MessageRow>();
  const changeItem = changedItem(recorded);

  /** Rows of which nothing is left, each made once for a reason. */
  function goneRowsOf({ stage, reason }: Why): (row: MessageRow) => MessageRow {
    const name = `${stage}/${reason}`;
    const known = goneRows.get(name) ?? new WeakMap<MessageRow, MessageRow>();
    goneRows.set(name, known);
    return (row) => {
      let made = known.get(row);
      if (made === undefined) {
        const items = row.items.map((item) =>
          isGone(item) ? item : withLeft(item, gone({ stage, reason })),
        );
        made = withItems(row, items);
        known.set(row, made);
      }
      return made;
    };
  }

  function changedRow(row: MessageRow, items: readonly ItemRow[]): MessageRow {
    const last = changedRows.get(row);
    if (last?.items.every((item, index) => item === items[index])) return last;
    const made = withItems(row, items);
    changedRows.set(row, made);
    return made;
  }

  return {
    rowsOf({ source, left, edits }) {
      const rows = source.map((message, index) => recorded.rowOf(message, index));
      if (edits.length === 0) return rows;
      const leftById = new Map(left.map((message) => [message.id, message]));
      const { hides, parts } = indexEdits(edits, leftById);
      let why: Why = { stage: "", reason: "" };
      let goneRow = goneRowsOf(why);
      return rows.map((row, index) => {
        const before = source[index] as Message;
        const after = leftById.get(before.id);
        if (after === before) return row;
        if (after !== undefined) {
          const own = parts.get(before.id) ?? [];
          return changedRow(
            row,
            row.items.map((item) => changeItem(item, { before, after, edits: own })),
          );
        }
        const hide = hides.get(before.id);
        if (hide === undefined) return row;
        if (hide.stage !== why.stage || hide.reason !== why.reason) {
          why = hide;
          goneRow = goneRowsOf(hide);
        }
        return goneRow(row);
      });
    },
  };
}

/** True for what was hidden already when it was recorded: it stays hidden for that reason. */
function isGone({ fate, keptTokens }: ItemRow): boolean {
  return fate === "hidden" && keptTokens === 0;
}

interface EditIndex {
  readonly hides: ReadonlyMap<MessageId, HideMessage>;
  readonly parts: ReadonlyMap<MessageId, readonly PartEdit[]>;
}

/** Edits of parts matter only where something is left. */
function indexEdits(edits: readonly Edit[], leftById: ReadonlyMap<MessageId, Message>): EditIndex {
  const hides = new Map<MessageId, HideMessage>();
  const parts = new Map<MessageId, PartEdit[]>();
  for (const edit of edits) {
    if (edit.type === "hide-message") hides.set(edit.messageId, edit);
    if (edit.type !== "hide-part" && edit.type !== "replace-part") continue;
    if (!leftById.has(edit.messageId)) continue;
    const known = parts.get(edit.messageId);
    if (known === undefined) parts.set(edit.messageId, [edit]);
    else known.push(edit);
  }
  return { hides, parts };
}

function withItems(row: MessageRow, items: readonly ItemRow[]): MessageRow {
  return {
    ...row,
    items,
    keptTokens: items.reduce((sum, { keptTokens }) => sum + keptTokens, 0),
    fate: fateOfItems(items),
  };
}
