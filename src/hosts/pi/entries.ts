import { piBeforeEdits } from "../../formats/files/pi/pi.ts";
import { isEditable, withContent } from "../../formats/files/pi/read-lines.ts";
import type { FinishedTool, ToolOutputChange, WholeOutput } from "../../plugin/host/agent-host.ts";
import type { HostCheckpoints } from "../../plugin/host/host-parts.ts";
import { asArray, asObject, asString, deepEqual, textOrJson, type UnknownObject } from "../../text/json.ts";
import type { Format } from "../../transcript/format.ts";
import type { Message } from "../../transcript/message.ts";
import { readHostFile } from "../opencode/tool-output.ts";
import type { PiEntry, ToolResultEvent } from "./pi-api.ts";

/** The lines of pi's files, with the ends of answers in the plugin's words, and what is ours known as such. */
export const piFormat: Format<readonly unknown[]> = {
  ...piBeforeEdits,
  decode(lines) {
    const own = new Set(
      lines
        .map(asObject)
        .filter(isOwnMessage)
        .map(({ id }) => id),
    );
    return piBeforeEdits.decode(lines).map((message) => {
      if (own.has(message.id)) return asOwn(message);
      return message.finish === "toolUse" ? { ...message, finish: "tool-calls" } : message;
    });
  },
};

/** Names what is ours among the entries of a session. */
export const OWN_TYPE = "carryover";

function isOwnMessage({ type, customType }: UnknownObject): boolean {
  return type === "custom_message" && customType === OWN_TYPE;
}

function asOwn(message: Message): Message {
  const parts = message.parts.map((part) =>
    part.type === "text" ? { ...part, synthetic: true as const, own: true as const } : part,
  );
  return { ...message, parts };
}

/** pi keeps what it was told to keep behind a summary. */
export const piCheckpoints: HostCheckpoints = {
  keepsTail: true,
  find: (messages) =>
    messages.flatMap((message, index) => {
      const { type, summary } = asObject(message);
      return type === "compaction" && typeof summary === "string" ? [{ index, summary }] : [];
    }),
  write: (message, summary) => ({ ...message, summary }),
};

/** A branch as the plugin reads it, and what pi sends of each entry now. */
export interface BranchView {
  /** What is sent: from the first entry that the newest compaction kept. Edits of ours are not in it, those of others are. */
  readonly window: readonly PiEntry[];
  /** The content of an entry with all edits in it; null where it is left out. */
  readonly shown: ReadonlyMap<string, unknown>;
}

export function readBranch(branch: readonly PiEntry[]): BranchView {
  const shown = new Map<string, unknown>();
  const others = new Map<string, unknown>();
  let announced = new Set<string>();
  for (const { type, customType, data, targetId, replacement } of branch) {
    if (type === "custom" && customType === OWN_TYPE)
      announced = new Set(asArray(asObject(data).edited).map(textOrJson));
    if (type !== "context_edit" || typeof targetId !== "string") continue;
    const content = replacement === null ? null : asObject(replacement).content;
    shown.set(targetId, content);
    if (!announced.delete(targetId)) others.set(targetId, content);
  }
  const last = branch.findLastIndex(({ type }) => type === "compaction");
  const kept = branch.findIndex(({ id }) => id === branch[last]?.firstKeptEntryId);
  const window = branch
    .slice(last === -1 ? 0 : kept === -1 ? last : Math.min(kept, last))
    .filter(saysSomething)
    .filter(({ id }) => others.get(id) !== null)
    .map((entry) => (others.has(entry.id) ? withContent(entry, others.get(entry.id)) : entry))
    .map((entry, index, all) => ({ ...entry, parentId: all[index - 1]?.id ?? null }));
  for (const entry of window) if (!shown.has(entry.id)) shown.set(entry.id, contentOf(entry));
  return { window, shown };
}

/** Notes of pi's and ours are no messages, nor is the prompt, which pi makes anew. */
function saysSomething({ type, message }: PiEntry): boolean {
  if (type === "message") return asObject(message).role !== "system";
  return type === "custom_message" || type === "compaction" || type === "branch_summary";
}

/** What is to be appended so that pi sends the entries as they were edited; empty where it does already. */
export function draftsFor({ window, shown }: BranchView, edited: readonly unknown[]): readonly object[] {
  const now = new Map(edited.map(asObject).map((entry) => [entry.id, entry]));
  const edits = window.filter(isEditable).flatMap(({ id }) => {
    const entry = now.get(id);
    const content = entry === undefined ? null : contentOf(entry);
    const replacement = content === null ? null : { content };
    return deepEqual(content, shown.get(id)) ? [] : [{ type: "context_edit", targetId: id, replacement }];
  });
  if (edits.length === 0) return [];
  // First: by it the edits are known as ours, which later ones may change or take back.
  const note = { type: "custom", customType: OWN_TYPE, data: { edited: edits.map((edit) => edit.targetId) } };
  return [note, ...edits];
}

function contentOf({ type, content, message }: UnknownObject): unknown {
  return type === "message" ? asObject(message).content : content;
}

/** A finished call as the plugin sees it, and the result as it was changed. */
export function finishedTool(event: ToolResultEvent, sessionId: string): ChangingTool {
  let content: readonly unknown[] = event.content;
  const textNow = (): string | undefined => {
    const blocks = content.map(asObject);
    const isText = blocks.every(({ type, text }) => type === "text" && typeof text === "string");
    return isText ? blocks.map(({ text }) => text).join("\n") : undefined;
  };
  return {
    finished: {
      sessionId,
      callId: event.toolCallId,
      tool: event.toolName,
      get text() {
        return textNow();
      },
      whole: () => wholeOutput(event.details, textNow() ?? ""),
    },
    change({ type, text }) {
      content = [{ type: "text", text: type === "append" ? (textNow() ?? "") + text : text }];
    },
    changed: () => (content === event.content ? undefined : content),
  };
}

interface ChangingTool {
  readonly finished: FinishedTool;
  change(change: ToolOutputChange): void;
  /** Undefined where nothing changed. */
  changed(): readonly unknown[] | undefined;
}

/** Commands keep the end of a long output, and all of it in a file. What pi says of them behind it stays. */
async function wholeOutput(details: unknown, shown: string): Promise<WholeOutput> {
  const { fullOutputPath, truncation } = asObject(details);
  const path = asString(fullOutputPath);
  if (path === undefined || asObject(truncation).truncated !== true) return { text: shown };
  const text = await readHostFile(path);
  if (text === undefined) return { text: shown };
  const notice = `Full output: ${path}]`;
  const at = shown.lastIndexOf(notice);
  return { text: text.trimEnd() + (at === -1 ? "" : shown.slice(at + notice.length)), path };
}
