import { asArray, asObject, deepEqual, textOrJson, type UnknownObject } from "../../../text/json.ts";
import { type ContextEdit, editsIn, isEditable, OWN_TYPE, withContent } from "./read-lines.ts";

/** An entry of a session: a line of its file. */
export type PiEntry = UnknownObject & { readonly type: string; readonly id: string };

/** What pi sends of a branch now, and what it would send without our edits. */
export interface BranchView {
  /** From the first entry that the newest compaction kept. Edits of ours are not in it, those of others are. */
  readonly window: readonly PiEntry[];
  /** The last edit of each entry, whoever made it. */
  readonly edits: ReadonlyMap<unknown, ContextEdit>;
}

/** Reads a branch, from the root to its newest entry. */
export function readBranch(branch: readonly PiEntry[]): BranchView {
  const others = editsIn(withoutOwnEdits(branch));
  const last = branch.findLastIndex(({ type }) => type === "compaction");
  const kept = branch.findIndex(({ id }) => id === branch[last]?.firstKeptEntryId);
  const window = branch
    .slice(last === -1 ? 0 : kept === -1 ? last : Math.min(kept, last))
    .filter(saysSomething)
    .flatMap((entry) => {
      const edit = others.get(entry.id);
      return edit === "left-out" ? [] : [edit === undefined ? entry : withContent(entry, edit.content)];
    })
    .map((entry, index, all) => ({ ...entry, parentId: all[index - 1]?.id ?? null }));
  return { window, edits: editsIn(branch) };
}

function withoutOwnEdits(branch: readonly PiEntry[]): readonly PiEntry[] {
  const own = new Set<UnknownObject>(ownEdits(branch));
  return branch.filter((entry) => !own.has(entry));
}

/** The edits of ours among some entries: an entry of ours announces those that follow it; each of them is ours once. */
export function ownEdits<Entry extends UnknownObject>(branch: readonly Entry[]): readonly Entry[] {
  let announced = new Set<string>();
  return branch.filter(({ type, customType, data, targetId }) => {
    if (type === "custom" && customType === OWN_TYPE)
      announced = new Set(asArray(asObject(data).edited).map(textOrJson));
    return type === "context_edit" && announced.delete(textOrJson(targetId));
  });
}

/** Notes of pi's and ours are no messages, nor is the prompt, which pi makes anew. */
function saysSomething({ type, message }: PiEntry): boolean {
  if (type === "message") return asObject(message).role !== "system";
  return type === "custom_message" || type === "compaction" || type === "branch_summary";
}

/** What is to be appended so that pi sends the entries of the window as they were edited; empty where it does already. */
export function draftsFor({ window, edits }: BranchView, edited: readonly unknown[]): readonly object[] {
  const wanted = new Map(edited.map(asObject).map((entry) => [entry.id, entry]));
  const drafts = window.filter(isEditable).flatMap((entry) => {
    const { id: targetId } = entry;
    const now = wanted.get(targetId);
    const replacement = now === undefined ? null : { content: contentOf(now) };
    const edit = edits.get(targetId) ?? { content: contentOf(entry) };
    const isSent = deepEqual(replacement, edit === "left-out" ? null : edit);
    return isSent ? [] : [{ type: "context_edit", targetId, replacement }];
  });
  if (drafts.length === 0) return [];
  // First: by it the edits are known as ours, which later ones may change or take back.
  const note = {
    type: "custom",
    customType: OWN_TYPE,
    data: { edited: drafts.map((edit) => edit.targetId) },
  };
  return [note, ...drafts];
}

/** The messages of a request with the summaries as they were edited, which no entry can do; the same list where none was. */
export function withSummaries(
  messages: readonly UnknownObject[],
  { window, edited }: Pick<BranchView, "window"> & { readonly edited: readonly unknown[] },
): readonly UnknownObject[] {
  const ids = new Map(window.map(({ id, summary }) => [summary, id]));
  const now = new Map(edited.map(asObject).map(({ id, summary }) => [id, summary]));
  const shown = messages.map((message) => {
    const summary = message.role === "compactionSummary" ? now.get(ids.get(message.summary)) : undefined;
    return typeof summary === "string" && summary !== message.summary ? { ...message, summary } : message;
  });
  return shown.some((message, index) => message !== messages[index]) ? shown : messages;
}

function contentOf({ type, content, message }: UnknownObject): unknown {
  return type === "message" ? asObject(message).content : content;
}
