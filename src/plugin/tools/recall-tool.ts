import { hiddenTexts, RECALL_MAX_CHARS, type RecallRequest, recall } from "../../session/recall.ts";
import { createRecallSearch, formatMatches, type SearchRecall } from "../../session/search.ts";
import { plural } from "../../text/format-number.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { spanHandle } from "../../transcript/content.ts";
import type { Handle } from "../../transcript/edit.ts";
import type { Message, MessageId } from "../../transcript/message.ts";
import type { PluginContext } from "../context/context.ts";
import type { Forks } from "../forks/forks.ts";
import type { HostMessage, ModelTool } from "../host/agent-host.ts";
import { createArchivedWindows } from "../stores/folds.ts";
import { pluginJournal } from "../stores/journal.ts";
import { defineTool } from "./define-tool.ts";
import { parseRange, RANGE } from "./text-range.ts";

/** Brings back the whole of what was cleared or trimmed, in a child also of its parent. */
export function createRecallTool(setup: RecallSetup): ModelTool {
  const { context, forks } = setup;
  const { sessions, format } = context.host;
  const archivedWindows = createArchivedWindows({ requests: forks.requests, format });
  const searches = createLruMap<string, SearchRecall>(MAX_SEARCHES);
  const searchOf = (sessionId: string): SearchRecall => {
    const search = searches.get(sessionId) ?? createRecallSearch(undefined);
    searches.set(sessionId, search);
    return search;
  };
  return defineTool(setup, {
    description:
      "Get back text that was cleared or trimmed from the conversation (also your parent's, if you are a fork).",
    parameters: PARAMETERS,
    async run({ handle, search, range }, { sessionId }) {
      if (handle === undefined && (search === undefined || search.trim() === ""))
        return "Give a handle, or a text to search for.";
      let conversation: Promise<Conversation> | undefined;
      let unread: string | undefined;
      const read = (): Promise<Conversation> => {
        conversation ??= readConversation(sessionId);
        return conversation;
      };
      const recalled = await recall(
        {
          async messages() {
            const byId = messagesById((await read()).messages);
            return { find: (id) => byId.get(id), list: () => [...byId.values()] };
          },
          saved: (handle) => context.outputs.get(handle),
          savedHandles: async () => savedHandles(sessionId, (await read()).messages),
          async hidden() {
            const { messages } = await read();
            const seen = messagesById(forks.capture.lastSent(sessionId)?.messages ?? []);
            const saved = await savedTexts(await savedHandles(sessionId, messages));
            unread = saved.unread;
            return [...hiddenTexts(format.decode(messages), seen), ...saved.texts];
          },
        },
        handle === undefined
          ? { search: search ?? "" }
          : await requestOf(handle, range === undefined ? search : undefined),
        {
          maxChars: RECALL_MAX_CHARS,
          range: range === undefined ? undefined : parseRange(range),
          redact: undefined,
          searchHidden: (texts, request) => searchOf(sessionId)(texts, request),
        },
      );
      const { problem } = (await conversation) ?? {};
      switch (recalled.status) {
        case "found":
          if (recalled.text !== "" || range === undefined) return recalled.text;
          return `Nothing is in the range ${range}: the text has ${plural(recalled.totalLines, "line")}, ${plural(recalled.totalChars, "character")}.`;
        case "failed":
          return recalled.hint;
        case "missing":
          if (recalled.candidates !== undefined) return recalled.hint;
          return (
            problem ?? `Nothing is kept under "${handle}". Search for a text of it, or run the tool again.`
          );
        case "matches":
          return recalled.totalPieces === 0
            ? (problem ?? unread ?? nothingHolds(search, handle))
            : formatMatches(recalled);
      }
    },
  });

  /** A search with a handle looks into what it names. Models fill in every field, so an empty one counts as unset. */
  async function requestOf(handle: string, search = ""): Promise<RecallRequest> {
    const named = await withoutFold(handle);
    return search.trim() === "" ? named : { search, handle: named };
  }

  /** The handles of the outputs that were trimmed in a session and its parent, also of those that the agent does not show. */
  async function recordedHandles(sessionId: string): Promise<readonly string[]> {
    const parent = (await forks.forkLinkOf(sessionId))?.parent;
    const { entries } = pluginJournal(await context.journal(await context.tree.rootOf(sessionId)).read());
    return entries.flatMap((entry) =>
      entry.type === "tool-output" && (entry.sessionId === sessionId || entry.sessionId === parent)
        ? (entry.handle ?? [])
        : [],
    );
  }

  /** Everything that the session holds, after everything that its parent holds. */
  async function readConversation(sessionId: string): Promise<Conversation> {
    const link = await forks.forkLinkOf(sessionId);
    const own = await sessions.read(sessionId);
    const inherited = link === undefined ? [] : await parentMessages(link);
    const compacted = await archivedWindows.messagesBefore(forks.capture.lastSent(sessionId)?.messages ?? []);
    if (own.status === "ok") return { messages: [...inherited, ...joined(compacted, own.value.messages)] };
    if (compacted.length > 0) return { messages: [...inherited, ...compacted] };
    const problem = `The conversation could not be read now (${own.reason}). Call again in a moment.`;
    return { messages: inherited, problem };
  }

  /** What was compacted in front of what the agent still gives, which may be all of it. */
  function joined(compacted: readonly HostMessage[], own: readonly HostMessage[]): readonly HostMessage[] {
    const known = messagesById(own);
    const isThere = format.decode(compacted).every(({ id, role }) => role === "system" || known.has(id));
    return isThere ? own : [...compacted, ...own];
  }

  /** The handle of a compaction names everything before it: from the first message to the last. */
  async function withoutFold(handle: Handle): Promise<Handle> {
    if (format.checkpoints === undefined) return handle;
    const compacted = await archivedWindows.messagesUpTo(handle);
    if (compacted.length === 0) return handle;
    const messages = format.decode(compacted).filter(({ role }) => role !== "system");
    return messages.length === 0 ? handle : spanHandle(messages);
  }

  /** Of a parent that lives on another machine there is what the child inherited. */
  async function parentMessages({ parent, blob }: ParentPlace): Promise<readonly HostMessage[]> {
    const stored = await sessions.read(parent);
    // The child inherited what the user may have taken back since.
    const known = stored.status === "ok" ? [...stored.value.messages, ...(stored.value.undone ?? [])] : [];
    if (known.length > 0) return known;
    const view = blob === undefined ? undefined : await forks.requests.get(blob);
    return view?.status === "found" ? view.messages : [];
  }

  function messagesById(messages: readonly HostMessage[]): ReadonlyMap<MessageId, Message> {
    return new Map(format.decode(messages).map((message) => [message.id, message]));
  }

  /** Oldest first: those that the conversation names, and those that it does not show any more, or not yet. */
  async function savedHandles(
    sessionId: string,
    messages: readonly HostMessage[],
  ): Promise<readonly string[]> {
    const recorded = new Set(await recordedHandles(sessionId));
    const shown = format.notesIn(messages).flatMap(({ handle }) => handle ?? []);
    return [...shown.filter((handle) => !recorded.has(handle)), ...recorded];
  }

  /** The whole of each output that was trimmed as it came in, newest first. */
  async function savedTexts(handles: readonly string[]): Promise<SavedTexts> {
    const texts: SavedText[] = [];
    let unread: string | undefined;
    let chars = 0;
    for (const handle of handles.toReversed().slice(0, MAX_SEARCHED_OUTPUTS)) {
      const text = await context.outputs.get(handle);
      if (typeof text === "object")
        unread = `Outputs cannot be read now (${text.reason}). Call again in a moment.`;
      if (typeof text !== "string") continue;
      chars += text.length;
      if (chars > MAX_SEARCHED_CHARS) break;
      texts.push({ handle, text });
    }
    return { texts, ...(unread !== undefined && { unread }) };
  }
}

/** What was sent, what was compacted, and whose child a session is: all that recall needs of forks. */
interface RecallSetup {
  readonly context: PluginContext;
  readonly forks: Pick<Forks, "capture" | "forkLinkOf" | "requests">;
}

function nothingHolds(search: string | undefined, handle: string | undefined): string {
  return handle === undefined
    ? `Nothing out of sight holds "${search}". Try other words, or run the tool again.`
    : `Nothing under "${handle}" holds "${search}". Try other words, or a range of it.`;
}

const PARAMETERS = {
  handle: { type: "text" },
  search: {
    type: "text",
    description: "words or exact text to find (in the handle, if given)",
  },
  range: RANGE,
} as const;

interface Conversation {
  readonly messages: readonly HostMessage[];
  /** For the model: why some of it is not there. */
  readonly problem?: string;
}

interface ParentPlace {
  readonly parent: string;
  readonly blob?: string;
}

interface SavedText {
  readonly handle: string;
  readonly text: string;
}

interface SavedTexts {
  readonly texts: readonly SavedText[];
  /** What is said of those that could not be read. */
  readonly unread?: string;
}

/** Each holds the texts of a whole conversation. */
const MAX_SEARCHES = 2;
const MAX_SEARCHED_OUTPUTS = 200;
const MAX_SEARCHED_CHARS = 50_000_000;
