import { z } from "zod";
import { opencode } from "../../formats/wires/opencode/opencode.ts";
import type { SessionMessage } from "../../formats/wires/opencode/session-message.ts";
import type { ToolDefinition } from "../../hosts/opencode/hooks.ts";
import { sessionMessages } from "../../hosts/opencode/sessions.ts";
import {
  boundRecall,
  hiddenTexts,
  RECALL_MAX_CHARS,
  type RecallRange,
  searchLines,
  textAt,
} from "../../session/recall.ts";
import { asObject, asString } from "../../text/json.ts";
import type { Message, MessageId, Transcript } from "../../transcript/message.ts";
import type { ForkLink } from "../forks/links.ts";
import { defineTool, type ToolSetup } from "./define-tool.ts";

/** Brings back the whole of what was cleared, cut or spilled, in a child also of its parent. */
export function createRecallTool({ context, forks }: ToolSetup): ToolDefinition {
  return defineTool({
    description:
      "Get back text that was cleared, cut or spilled from the conversation (also your parent's, if you are a fork).",
    args: RECALL_ARGS,
    async run({ handle, search, range }, tool) {
      const { messages, problem } = await storedOf(tool.sessionID);
      const stored = opencode.decode(messages);
      if (handle !== undefined)
        return (await recallHandle(stored, handle, readRange(range))) ?? problem ?? nothingUnder(handle);
      if (search === undefined || search.trim() === "") return "Give a handle, or a text to search for.";
      const seen = new Map<MessageId, Message>();
      const view = forks.capture.lastSent(tool.sessionID)?.messages ?? [];
      for (const message of opencode.decode(view)) seen.set(message.id, message);
      const texts = [...hiddenTexts(stored, seen), ...(await spilledTexts(messages))];
      const found = searchLines(texts, { search, maxChars: RECALL_MAX_CHARS, redact: undefined });
      return found.totalMatches === 0 && problem !== undefined ? problem : matchesText(search, found);
    },
  });

  /** Everything that the session holds, after everything that its parent holds. */
  async function storedOf(sessionId: string): Promise<Stored> {
    const bond = await forks.bonds.bondOf(sessionId);
    const own = await sessionMessages(context.calls, sessionId);
    const inherited = bond === undefined ? [] : await parentMessages(bond);
    if (own.status === "ok") return { messages: [...inherited, ...own.value] };
    const problem = `The conversation could not be read now (${own.reason}). Call again in a moment.`;
    return { messages: inherited, problem };
  }

  /** Of a parent that lives on another machine there is what the child inherited. */
  async function parentMessages({ parent, blob }: ForkLink): Promise<readonly SessionMessage[]> {
    const stored = await sessionMessages(context.calls, parent);
    if (stored.status === "ok" && stored.value.length > 0) return stored.value;
    const view = blob === undefined ? undefined : await forks.views.get(blob);
    return view?.status === "found" ? view.messages : [];
  }

  /** The whole of each output that was cut as it came in, newest first. */
  async function spilledTexts(messages: readonly SessionMessage[]): Promise<readonly SpilledText[]> {
    const texts: SpilledText[] = [];
    let chars = 0;
    for (const handle of spillHandles(messages).reverse().slice(0, MAX_SEARCHED_SPILLS)) {
      const text = await context.spills.get(handle);
      if (text === undefined) continue;
      chars += text.length;
      if (chars > MAX_SEARCHED_CHARS) break;
      texts.push({ handle, text });
    }
    return texts;
  }

  async function recallHandle(
    stored: Transcript,
    handle: string,
    range: RecallRange | undefined,
  ): Promise<string | undefined> {
    const byId = new Map(stored.map((message) => [message.id, message]));
    const text = textAt(handle, (id) => byId.get(id))?.text ?? (await context.spills.get(handle));
    return text === undefined ? undefined : boundRecall(text, { maxChars: RECALL_MAX_CHARS, range }).text;
  }
}

interface Stored {
  readonly messages: readonly SessionMessage[];
  /** For the model: why some of it is not there. */
  readonly problem?: string;
}

function nothingUnder(handle: string): string {
  return `Nothing is kept under "${handle}". Search for a text of it, or run the tool again.`;
}

interface SpilledText {
  readonly handle: string;
  readonly text: string;
}

const MAX_SEARCHED_SPILLS = 200;
const MAX_SEARCHED_CHARS = 50_000_000;

function spillHandles(messages: readonly SessionMessage[]): string[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      const handle = asString(asObject(asObject(asObject(part.state).metadata).carryover).handle);
      return part.type === "tool" && handle !== undefined ? [handle] : [];
    }),
  );
}

const RECALL_ARGS = {
  handle: z.string().min(1).optional(),
  search: z.string().min(1).optional().describe("text to find; gives lines with their handles"),
  range: z
    .string()
    .regex(/^\d{1,9}-\d{0,9}$/, 'must be lines such as "20-80"')
    .optional()
    .describe('lines, "20-80"'),
};

function readRange(range: string | undefined): RecallRange | undefined {
  if (range === undefined) return undefined;
  const [from = "", to = ""] = range.split("-");
  return { fromLine: Math.max(1, Number(from)), ...(to === "" ? {} : { toLine: Number(to) }) };
}

function matchesText(search: string, found: ReturnType<typeof searchLines>): string {
  if (found.totalMatches === 0)
    return `Nothing out of sight holds "${search}". Try a shorter text, or run the tool again.`;
  const lines = found.matches.map(({ handle, line, text }) => `${handle} line ${line}: ${text}`);
  const rest = found.totalMatches - found.matches.length;
  return [
    `${found.totalMatches} lines; recall a handle for the whole text.`,
    ...lines,
    ...(rest > 0 ? [`(${rest} more)`] : []),
  ].join("\n");
}
