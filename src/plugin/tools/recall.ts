import { hiddenTexts, RECALL_MAX_CHARS, type RecallRange, recall } from "../../session/recall.ts";
import type { Message, MessageId } from "../../transcript/message.ts";
import type { ForkSetup } from "../forks/forks.ts";
import type { HostMessage, ModelTool } from "../host/agent-host.ts";
import { defineTool } from "./define-tool.ts";

/** Brings back the whole of what was cleared, cut or spilled, in a child also of its parent. */
export function createRecallTool(setup: ForkSetup): ModelTool {
  const { context, forks } = setup;
  const { sessions, format } = context.host;
  return defineTool(setup, {
    description:
      "Get back text that was cleared, cut or spilled from the conversation (also your parent's, if you are a fork).",
    parameters: PARAMETERS,
    async run({ handle, search, range }, { sessionId }) {
      if (handle === undefined && (search === undefined || search.trim() === ""))
        return "Give a handle, or a text to search for.";
      let problem: string | undefined;
      const stored = async (): Promise<readonly HostMessage[]> => {
        const read = await readConversation(sessionId);
        problem = read.problem;
        return read.messages;
      };
      const recalled = await recall(
        {
          async messages() {
            const byId = messagesById(await stored());
            return (id) => byId.get(id);
          },
          spilled: (handle) => context.spills.get(handle),
          async hidden() {
            const messages = await stored();
            const seen = messagesById(forks.capture.lastSent(sessionId)?.messages ?? []);
            return [...hiddenTexts(format.decode(messages), seen), ...(await spilledTexts(messages))];
          },
        },
        handle ?? { search: search ?? "" },
        { maxChars: RECALL_MAX_CHARS, range: readRange(range), redact: undefined },
      );
      switch (recalled.status) {
        case "found":
          return recalled.text;
        case "missing":
          return (
            problem ?? `Nothing is kept under "${handle}". Search for a text of it, or run the tool again.`
          );
        case "matches":
          return recalled.totalMatches === 0
            ? (problem ??
                `Nothing out of sight holds "${search}". Try a shorter text, or run the tool again.`)
            : matchesText(recalled);
      }
    },
  });

  /** Everything that the session holds, after everything that its parent holds. */
  async function readConversation(sessionId: string): Promise<Conversation> {
    const link = await forks.links.linkOf(sessionId);
    const own = await sessions.read(sessionId);
    const inherited = link === undefined ? [] : await parentMessages(link);
    if (own.status === "ok") return { messages: [...inherited, ...own.value.messages] };
    const problem = `The conversation could not be read now (${own.reason}). Call again in a moment.`;
    return { messages: inherited, problem };
  }

  /** Of a parent that lives on another machine there is what the child inherited. */
  async function parentMessages({ parent, blob }: ParentPlace): Promise<readonly HostMessage[]> {
    const stored = await sessions.read(parent);
    if (stored.status === "ok" && stored.value.messages.length > 0) return stored.value.messages;
    const view = blob === undefined ? undefined : await forks.views.get(blob);
    return view?.status === "found" ? view.messages : [];
  }

  function messagesById(messages: readonly HostMessage[]): ReadonlyMap<MessageId, Message> {
    return new Map(format.decode(messages).map((message) => [message.id, message]));
  }

  /** The whole of each output that was bounded as it came in, newest first. */
  async function spilledTexts(messages: readonly HostMessage[]): Promise<readonly SpilledText[]> {
    const texts: SpilledText[] = [];
    let chars = 0;
    const handles = format.notesIn(messages).flatMap(({ handle }) => handle ?? []);
    for (const handle of handles.toReversed().slice(0, MAX_SEARCHED_SPILLS)) {
      const text = await context.spills.get(handle);
      if (text === undefined) continue;
      chars += text.length;
      if (chars > MAX_SEARCHED_CHARS) break;
      texts.push({ handle, text });
    }
    return texts;
  }
}

const PARAMETERS = {
  handle: { type: "text" },
  search: { type: "text", description: "text to find; gives lines with their handles" },
  range: {
    type: "text",
    pattern: /^\d{1,9}-\d{0,9}$/,
    expects: 'lines such as "20-80"',
    description: 'lines, "20-80"',
  },
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

interface SpilledText {
  readonly handle: string;
  readonly text: string;
}

const MAX_SEARCHED_SPILLS = 200;
const MAX_SEARCHED_CHARS = 50_000_000;

function readRange(range: string | undefined): RecallRange | undefined {
  if (range === undefined) return undefined;
  const [from = "", to = ""] = range.split("-");
  return { fromLine: Math.max(1, Number(from)), ...(to === "" ? {} : { toLine: Number(to) }) };
}

function matchesText({ matches, totalMatches }: Matches): string {
  const lines = matches.map(({ handle, line, text }) => `${handle} line ${line}: ${text}`);
  const rest = totalMatches - matches.length;
  return [
    `${totalMatches} lines; recall a handle for the whole text.`,
    ...lines,
    ...(rest > 0 ? [`(${rest} more)`] : []),
  ].join("\n");
}

type Matches = Extract<Awaited<ReturnType<typeof recall>>, { readonly status: "matches" }>;
