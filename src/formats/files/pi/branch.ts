import { deepEqual } from "../../../text/deep-equal.ts";
import { textOrJson } from "../../../text/json.ts";
import { asArray, asObject, type UnknownObject } from "../../../text/unknown-value.ts";
import { type ContextEdit, editsIn, isEditable, OWN_TYPE, withContent } from "./read-pi-lines.ts";

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
  const nameIn = (message: UnknownObject): string | undefined => {
    const name = nameOf({ type: "message", message });
    return entries.has(name) ? name : undefined;
  };
  const restored = restoredAfter(new Set(messages.map(nameIn)), { window, edits, wanted });

  const shown = (message: UnknownObject): readonly UnknownObject[] => {
    const entry = entries.get(nameIn(message));
    if (entry === undefined) return [message];
    if (entry.type === "compaction") {
      const summary = summaries.get(entry.id);
      return [typeof summary === "string" && summary !== message.summary ? { ...message, summary } : message];
    }
    const replacement = wanted(entry);
    if (deepEqual(replacement, projectedContent(entry, edits))) return [message];
    return replacement === null ? [] : [{ ...message, ...replacement }];
  };
  const first = messages.findIndex(({ role }) => role !== "system");
  const sent = messages.flatMap((message, index) => [
    ...(index === first ? (restored.get(undefined) ?? []) : []),
    ...shown(message),
    ...(restored.get(nameIn(message) ?? NOBODY) ?? []),
  ]);
  const isSame = sent.length === messages.length && sent.every((message, at) => message === messages[at]);
  return isSame ? messages : sent;
}

const NOBODY = "";

/** Messages of entries that pi leaves out and that are wanted again, by the message of the request that they follow. */
function restoredAfter(
  sent: ReadonlySet<string | undefined>,
  { window, edits, wanted }: BranchView & { readonly wanted: ReturnType<typeof wantedContents> },
): ReadonlyMap<string | undefined, readonly UnknownObject[]> {
  const restored = new Map<string | undefined, readonly UnknownObject[]>();
  let last: string | undefined;
  // A summary stands first, whatever was kept before it was made.
  const isSummary = ({ type }: PiEntry): boolean => type === "compaction";
  const inOrder = [...window.filter(isSummary), ...window.filter((entry) => !isSummary(entry))];
  for (const entry of inOrder) {
    const name = nameOf(entry);
    const replacement = wanted(entry);
    if (name !== undefined && sent.has(name)) last = name;
    else if (edits.get(entry.id) === "left-out" && replacement !== null)
      restored.set(last, [...(restored.get(last) ?? []), { ...messageOf(entry), ...replacement }]);
  }
  return restored;
}

/** The message that pi makes of an entry. */
function messageOf({ type, message, timestamp, customType, display, details }: PiEntry): UnknownObject {
  if (type === "message") return asObject(message);
  return { role: "custom", customType, display, details, timestamp: Date.parse(textOrJson(timestamp)) };
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

/** What tells an entry and its message in a request apart from others; pi makes the time of a custom message anew. */
function nameOf({ type, summary, customType, content, message }: UnknownObject): string | undefined {
  if (type === "compaction") return `compactionSummary ${textOrJson(summary)}`;
  if (type === "custom_message") return `custom ${textOrJson(customType)} ${textOrJson(content)}`;
  if (type !== "message") return undefined;
  const { role, timestamp, toolCallId, responseId, ...others } = asObject(message);
  if (role === "compactionSummary") return nameOf({ ...others, type: "compaction" });
  if (role === "custom") return nameOf({ ...others, type: "custom_message" });
  return [role, timestamp, toolCallId ?? responseId].map(textOrJson).join(" ");
}

function contentOf({ type, content, message }: UnknownObject): unknown {
  return type === "message" ? asObject(message).content : content;
}
