import { isHostContext } from "../formats/files/codex/read-codex-lines.ts";
import { NUL_MARK } from "../formats/lines/read-json-lines.ts";
import type { FormatName } from "../formats/registry.ts";
import { compactionBoundary, hideFailedSummaries } from "../stages/boundary.ts";
import { jsonOrText } from "../text/json.ts";
import { mapStrings } from "../text/map-strings.ts";
import { outcomeText } from "../transcript/content.ts";
import { runStages } from "../transcript/edit.ts";
import {
  compactionPart,
  isVisibleToModel,
  type Message,
  project,
  type Transcript,
  withText,
} from "../transcript/message.ts";
import type { Part, TextPart } from "../transcript/part.ts";

/**
 * What was said in a session, and by whom: without what Carryover wrote into it and what the agent says of itself, a
 * summary as what it is, and the messages before a summary that only its provider can read. No words are attributed to a speaker who did not say them.
 */
export function conversationOf(transcript: Transcript, { format, keep }: ConversationOptions): Conversation {
  const counts = { nulChars: 0, lostCalls: 0 };
  const seen = project(transcript).filter(isVisibleToModel);
  const notices = withoutNotices(seen);
  const isCodex = format === "codex";
  const own = isCodex ? notices.messages.flatMap(withoutContext) : notices.messages;
  const {
    messages: readable,
    unreadable,
    isEncrypted,
  } = isCodex ? withoutUnreadable(own) : { messages: own, unreadable: [], isEncrypted: false };
  const stages =
    keep === "all" ? [hideFailedSummaries] : [compactionBoundary({ from: "summary" }), hideFailedSummaries];
  const window = runStages(readable, stages).transcript.filter(isVisibleToModel);
  const inWindow = new Set(window.map(({ id }) => id));
  const messages = window
    .flatMap((message) => asSaid(message, isCodex))
    .flatMap((message) => withLostCalls(message, counts))
    .map((message) => withMarkedNuls(message, counts));
  return {
    messages,
    ...counts,
    summarized: readable.length - window.length,
    unreadable: unreadable.length,
    isEncrypted,
    broughtBack: unreadable.at(-1)?.filter(({ id }) => inWindow.has(id)).length ?? 0,
    ...(notices.earlier && notices.earlier),
  };
}

interface ConversationOptions {
  readonly format: FormatName;
  /** `all`: also what a summary stands for. */
  readonly keep: "window" | "all";
}

interface Said {
  readonly messages: Transcript;
  /** Messages that a summary stands for. */
  readonly summarized: number;
  /** Compactions without a summary that can be read here. */
  readonly unreadable: number;
  /** False where the newest of them left no summary at all. */
  readonly isEncrypted: boolean;
  /** Messages from before such a compaction. */
  readonly broughtBack: number;
  /** Results whose calls are not in the session: they are texts now. */
  readonly lostCalls: number;
  /** Characters that no provider takes, each stretch of which is a mark now. */
  readonly nulChars: number;
}

/** What the first text of a session says that was handed over or rescued before. */
export interface EarlierHandoff {
  /** Where it came from. */
  readonly from?: string;
  /** What was done to it then, and before that. */
  readonly before?: string;
  /** What its originals are opened by, the first one first. */
  readonly originals?: readonly string[];
}

interface Conversation extends EarlierHandoff, Said {}

/** What a session is opened by, on one line whatever it holds. */
export function nameText(name: string): string {
  return PLAIN_NAME.test(name) ? name : JSON.stringify(name).replace(UNSEEN, escapedChar);
}

const PLAIN_NAME = /^[^\s",\p{C}\u2028\u2029]+$/u;
const UNSEEN = /[\p{C}\u2028\u2029]/gu;
const escapedChar = (char: string): string =>
  Array.from({ length: char.length }, (_, index) => {
    const code = char.charCodeAt(index).toString(16).padStart(4, "0");
    return `\\u${code}`;
  }).join("");

const QUOTED = String.raw`"(?:[^"\\\n]|\\[^\n])*"`;
const OWN_NOTICE = new RegExp(
  String.raw`^\[(?:Handed over|Rescued) by Carryover from ((?:${QUOTED}|[^"\n])*?)(?::|, which is untouched\.|\.(?= (?:Here|It could|What)))([^\n]*)\](?:\n+|$)`,
);
const ORIGINALS = / The originals? (?:is|are) untouched: (.*)$/;
const NAMES = new RegExp(String.raw`^(?:${QUOTED}|[^\s",]+)(?:, (?:${QUOTED}|[^\s",]+))*$`);
const NAME = new RegExp(String.raw`${QUOTED}|[^\s",]+`, "g");

function readNotice(from: string, rest: string): EarlierHandoff {
  const listed = ORIGINALS.exec(rest)?.[1] ?? /^session (.+)$/.exec(from)?.[1];
  const before = rest
    .replace(ORIGINALS, "")
    .replace(/ What is missing .*$/, "")
    .replace(/^ (?:Here: )?|\.$/g, "");
  return { from, before, originals: listed === undefined ? [] : readNames(listed) };
}

function readNames(listed: string): readonly string[] {
  if (!NAMES.test(listed)) return [listed];
  return (listed.match(NAME) ?? []).map((name) => (name.startsWith('"') ? String(jsonOrText(name)) : name));
}

/** The messages without the first text of one that was handed over before: another takes its place. */
function withoutNotices(messages: Transcript): {
  readonly messages: Transcript;
  readonly earlier?: EarlierHandoff;
} {
  const first = messages.findIndex(({ role }) => role !== "system");
  const message = messages[first];
  const [part, ...others] = message?.parts ?? [];
  const notice = message?.role === "user" && part?.type === "text" ? OWN_NOTICE.exec(part.text) : null;
  if (message === undefined || part?.type !== "text" || notice === null) return { messages };
  const text = part.text.slice(notice[0].length);
  const parts = text.trim() === "" ? others : [{ ...part, text }, ...others];
  const rest = parts.length === 0 ? [] : [{ ...message, parts }];
  return {
    messages: [...messages.slice(0, first), ...rest, ...messages.slice(first + 1)],
    earlier: readNotice(notice[1] ?? "", notice[2] ?? ""),
  };
}

/** The message without what Codex says of its surroundings in the user's name; instructions are not the user's words. */
function withoutContext(message: Message): readonly Message[] {
  if (message.role === "system") return [];
  if (message.role !== "user") return [message];
  return without(message, (part) => part.type === "text" && isHostContext(part.text));
}

function without(message: Message, isGone: (part: Part) => boolean): readonly Message[] {
  const parts = message.parts.filter((part) => !isGone(part));
  if (parts.length === message.parts.length) return [message];
  return parts.length === 0 ? [] : [{ ...message, parts }];
}

/**
 * Codex may keep a summary that only its provider can read, beside the user's own words. Then what stood before counts,
 * and of the words those that do not stand there.
 */
function withoutUnreadable(messages: Transcript): {
  readonly messages: Transcript;
  /** What stood before each of them. */
  readonly unreadable: readonly Transcript[];
  /** True where the newest of them has something that its provider can read. */
  readonly isEncrypted: boolean;
} {
  const kept: Message[] = [];
  const unreadable: Transcript[] = [];
  let isEncrypted = false;
  const said = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1];
    if (compactionPart(message) !== undefined && next?.summary === true && !isReadable(next)) continue;
    if (message.summary !== true || isReadable(message)) {
      kept.push(message);
      if (message.role === "user") for (const text of textsOf(message)) said.add(text.text);
      continue;
    }
    unreadable.push([...kept]);
    isEncrypted = message.parts.some((part) => part.type === "opaque" && part.name.startsWith("compaction"));
    const { summary: _, ...rest } = message;
    const parts = typedTexts(message).filter(({ text }) => !said.has(text));
    if (parts.length > 0) kept.push({ ...rest, role: "user", parts });
  }
  return { messages: kept, unreadable, isEncrypted };
}

function isReadable(summary: Message): boolean {
  return textsOf(summary).some(({ synthetic, text }) => synthetic === true && text.trim() !== "");
}

const textsOf = ({ parts }: Message): readonly TextPart[] => parts.filter((part) => part.type === "text");
const typedTexts = (message: Message): readonly TextPart[] =>
  textsOf(message).filter(({ synthetic }) => synthetic !== true);

/** A summary is told as one, beside the user's own words that a Codex compaction repeats; a marker says nothing. */
function asSaid(message: Message, isCodex: boolean): readonly Message[] {
  if (message.summary !== true) return without(message, ({ type }) => type === "compaction");
  const typed = isCodex ? typedTexts(message) : [];
  const summary = textsOf(message).filter((part) => !typed.includes(part) && part.text.trim() !== "");
  const text = [SUMMARY_LABEL, ...summary.map((part) => part.text)].join("\n");
  const synthetic: TextPart = { type: "text", text, synthetic: true };
  const { summary: _, ...rest } = message;
  const parts = summary.length === 0 ? typed : [...typed, synthetic];
  return parts.length === 0 ? [] : [{ ...rest, role: "user", parts }];
}

const SUMMARY_LABEL = "[Summary of what was said before, as it stood in the session]";

/** A result without its call is told in a message of its own: a request has no other place for it. */
function withLostCalls(message: Message, counts: { lostCalls: number }): readonly Message[] {
  const lost = message.parts.filter((part) => part.type === "tool" && part.callMissing === true);
  if (lost.length === 0) return [message];
  counts.lostCalls += lost.length;
  const parts = lost.map((part): TextPart => {
    const output = part.type === "tool" ? outcomeText(part.outcome) : "";
    return {
      type: "text",
      text: `[The result of a call that is not in the session]\n${output}`,
      synthetic: true,
    };
  });
  const lostMessage: Message = { id: `${message.id}~lost`, role: "user", parts };
  return [...without(message, (part) => lost.includes(part)), lostMessage];
}

/** NUL characters, which no provider takes, as a mark that can be seen. */
function withMarkedNuls(message: Message, counts: { nulChars: number }): Message {
  const mark = (text: string): string =>
    text.includes("\0")
      ? text.replace(/\0+/g, (found) => {
          counts.nulChars += found.length;
          return NUL_MARK;
        })
      : text;
  let isChanged = false;
  const parts = message.parts.map((part): Part => {
    const marked = markedPart(part, mark);
    if (marked !== part) isChanged = true;
    return marked;
  });
  return isChanged ? { ...message, parts } : message;
}

function markedPart(part: Part, mark: (text: string) => string): Part {
  if (part.type === "text") {
    const text = mark(part.text);
    return text === part.text ? part : { ...part, text };
  }
  if (part.type !== "tool") return part;
  const input = mapStrings(part.input, mark);
  const before = outcomeText(part.outcome);
  const text = mark(before);
  if (input === part.input && text === before) return part;
  return { ...part, input, outcome: text === before ? part.outcome : withText(part.outcome, text) };
}
