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

/** An entry of ours announces the edits that follow it; each of them is ours once. */
function withoutOwnEdits(branch: readonly PiEntry[]): readonly PiEntry[] {
  let announced = new Set<string>();
  return branch.filter(({ type, customType, data, targetId }) => {
    if (type === "custom" && customType === OWN_TYPE)
      announced = new Set(asArray(asObject(data).edited).map(textOrJson));
    return type !== "context_edit" || !announced.delete(textOrJson(targetId));
  });
}

/** Notes of pi's and ours are no messages, nor is the prompt, which pi makes anew. */
function saysSomething({ type, message }: PiEntry): boolean {
  if (type === "message") return asObject(message).role !== "system";
  return type === "custom_message" || type === "compaction" || type === "branch_summary";
}

/** What is to be appended so that pi sends the entries of the window as they were edited; empty where it does already. */
export function draftsFor({ window, edits }: BranchView, edited: readonly unknown[]): readonly object[] {
  const wanted = wantedContents(edited);
  const drafts = window.filter(isEditable).flatMap((entry) => {
    const { id: targetId } = entry;
    const replacement = wanted(entry);
    const isSent = deepEqual(replacement, projectedContent(entry, edits));
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

/**
 * The messages of a request as the entries of the window were edited, also where pi does not send them so yet; the same list
 * where it does.
 */
export function withEdits(
  messages: readonly UnknownObject[],
  { window, edits, edited }: BranchView & { readonly edited: readonly unknown[] },
): readonly UnknownObject[] {
  const wanted = wantedContents(edited);
  const summaries = new Map(edited.map(asObject).map(({ id, summary }) => [id, summary]));
  const entries = new Map(window.map((entry) => [nameOf(entry), entry]));
  const sent = messages.flatMap((message) => {
    const name = nameOf({ type: "message", message });
    const entry = name === undefined ? undefined : entries.get(name);
    if (entry === undefined) return [message];
    if (entry.type === "compaction") {
      const summary = summaries.get(entry.id);
      return [typeof summary === "string" && summary !== message.summary ? { ...message, summary } : message];
    }
    const replacement = wanted(entry);
    if (deepEqual(replacement, projectedContent(entry, edits))) return [message];
    return replacement === null ? [] : [{ ...message, ...replacement }];
  });
  return sent.length === messages.length && sent.every((message, at) => message === messages[at])
    ? messages
    : sent;
}

/** What each entry of a window is to say; null for one that is to be left out. */
function wantedContents(
  edited: readonly unknown[],
): (entry: PiEntry) => { readonly content: unknown } | null {
  const contents = new Map(edited.map(asObject).map((entry) => [entry.id, contentOf(entry)]));
  return ({ id, message }) => {
    if (contents.has(id)) return { content: contents.get(id) };
    // An answer of nothing but thoughts is sent by nobody once it is empty, and can be filled again.
    return asObject(message).role === "assistant" ? { content: [] } : null;
  };
}

/** What pi sends of an entry by itself. */
function projectedContent(entry: PiEntry, edits: BranchView["edits"]): { readonly content: unknown } | null {
  const edit = edits.get(entry.id) ?? { content: contentOf(entry) };
  return edit === "left-out" ? null : edit;
}

/** What tells an entry and its message in a request apart from others; undefined for those that no feature edits. */
function nameOf(entry: UnknownObject): string | undefined {
  if (entry.type === "compaction") return `compactionSummary ${textOrJson(entry.summary)}`;
  if (entry.type !== "message") return undefined;
  const { role, timestamp, toolCallId, responseId, summary } = asObject(entry.message);
  if (role === "compactionSummary") return `${role} ${textOrJson(summary)}`;
  if (role !== "assistant" && role !== "toolResult") return undefined;
  return [role, timestamp, toolCallId ?? responseId].map(textOrJson).join(" ");
}

function contentOf({ type, content, message }: UnknownObject): unknown {
  return type === "message" ? asObject(message).content : content;
}
