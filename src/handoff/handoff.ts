import { fileBase64 } from "../formats/content/foreign-parts.ts";
import { contentBlocks } from "../formats/content/text-blocks.ts";
import { type FormatName, sessionFormatOf } from "../formats/registry.ts";
import { anthropic } from "../formats/wires/anthropic/anthropic.ts";
import { createRedactor } from "../stages/redact.ts";
import { CONTINUE_REQUEST } from "../stages/repair.ts";
import { plural } from "../text/format-number.ts";
import { isMalformed, normalizeByLines } from "../text/normalize.ts";
import { asArray, asObject, asString, isObject, type UnknownObject } from "../text/unknown-value.ts";
import { outcomeText } from "../transcript/content.ts";
import { IMAGE_CHARS } from "../transcript/estimate-message.ts";
import type { Message, Transcript } from "../transcript/message.ts";
import type { FilePart, Part } from "../transcript/part.ts";
import { conversationOf, type EarlierHandoff, nameText } from "./conversation.ts";
import { fitted, type Summarize } from "./fit.ts";
import { type HandoffTarget, RECEIVERS } from "./receivers.ts";
import { translateCalls } from "./tool-calls.ts";
import type { Block, ImageBlock, SessionHead, Turn } from "./writers/session-files.ts";

/**
 * A session of one coding agent as another stores it, with its calls and results. Six steps: what was said in it, and by
 * whom (`conversation.ts`), without reasoning; secrets out, where the user wants that; down to size by lines; calls under
 * the names that the receiver offers; images as they are; and the receiver's own records (`writers/`), made from a request
 * that the strictest provider takes. The first text says what was done.
 */
export function handOff(transcript: Transcript, options: HandoffOptions): HandedOff {
  const { target, head, budgetChars, secrets, source, calls = "translated" } = options;
  const receiver = RECEIVERS[target];
  const redactor = createRedactor();
  const keep = budgetChars === undefined ? "all" : "window";
  const { messages: spoken, ...found } = conversationOf(transcript, { format: source.format, keep });
  const said = spoken.map(withoutReasoning);
  const clean = secrets === "taken-out" ? said.map((message) => redactor.message(message)) : said;
  const maxImages = imageRoom(clean, budgetChars);
  const sized =
    budgetChars === undefined
      ? { messages: clean, cut: 0, hidden: 0, replaced: 0 }
      : fitted(clean, budgetChars - maxImages * IMAGE_CHARS, options.summarize);
  const { messages, foreign, commented } = translateCalls(sized.messages, receiver.tools, calls);
  const turns = turnsOf(withImages(messages, maxImages));
  const blocks = turns.flatMap((turn) => turn.blocks);
  const results = blocks.filter((block) => block.type === "result");
  const callCount = blocks.filter(({ type }) => type === "call").length;
  const unanswered = partsOf(messages).filter(isPending).length;
  const images =
    blocks.filter(({ type }) => type === "image").length +
    results.reduce((sum, result) => sum + (result.images?.length ?? 0), 0);
  const facts: HandoffFacts = {
    ...found,
    calls: callCount,
    results: callCount - unanswered,
    resultChars: results.reduce((sum, { text }) => sum + text.length, 0),
    shortened: sized.cut,
    leftOut: sized.hidden,
    replaced: sized.replaced,
    secrets: [...redactor.found.values()].reduce((sum, count) => sum + count, 0),
    foreign,
    commented,
    images,
    files: Math.max(0, partsOf(messages).reduce((all, part) => all + filesOf(part), 0) - images),
    controls: Math.max(0, controlsIn(said) - controlsIn(clean)) + controlsIn(sized.messages),
    reasoning: partsOf(spoken).some(({ type }) => type === "reasoning"),
  };
  const notice = options.notice?.(facts) ?? noticeOf(source, facts);
  return { ...facts, notice, content: receiver.write(withNotice(turns, notice), head) };
}

export interface HandoffOptions {
  readonly target: HandoffTarget;
  readonly head: SessionHead;
  /** Most characters of the messages; unset: all of them. */
  readonly budgetChars?: number;
  readonly secrets: "taken-out" | "kept";
  readonly source: HandoffSource;
  /** `kept`: a session of the same agent, whose tools it knows. @default translated */
  readonly calls?: "translated" | "kept";
  /** Sums up the oldest messages where they do not fit, those that stay under their ids; unset: they are left out. */
  readonly summarize?: Summarize;
  /** What the first text says. @default where the session comes from, and what was done to it */
  readonly notice?: (facts: HandoffFacts) => string;
}

/** Where a session comes from. */
interface HandoffSource {
  readonly format: FormatName;
  readonly sessionId?: string;
  /** The path of the original. */
  readonly path: string;
  /** Lines of the original that could not be read. */
  readonly damagedLines?: number;
  /** Damaged lines of which something could be read all the same. */
  readonly mendedLines?: number;
}

/** What became of a session. */
export interface HandoffFacts extends EarlierHandoff {
  readonly calls: number;
  /** Calls that have one: the others say that theirs is missing. */
  readonly results: number;
  readonly resultChars: number;
  /** Results whose calls are not in the session: they are texts now. */
  readonly lostCalls: number;
  /** Parts that were cut. */
  readonly shortened: number;
  /** Messages for which there was no room. */
  readonly leftOut: number;
  /** Messages that a summary in the session stands for. */
  readonly summarized: number;
  /** Messages that a summary stands for now. */
  readonly replaced: number;
  /** Compactions whose summary cannot be read here, and the messages that were brought back from before. */
  readonly unreadable: number;
  /** False where the newest of them left no summary at all. */
  readonly isEncrypted: boolean;
  readonly broughtBack: number;
  readonly secrets: number;
  /** Tools of which calls have no counterpart in the receiver. */
  readonly foreign: readonly string[];
  /** Such calls. */
  readonly commented: number;
  readonly images: number;
  /** Images and other files, of which only the names are handed over. */
  readonly files: number;
  readonly nulChars: number;
  /** Escape sequences and other control characters, which are taken out. */
  readonly controls: number;
  /** True where there was some, which is left out. */
  readonly reasoning: boolean;
}

export interface HandedOff extends HandoffFacts {
  /** What the first text of the new session says. */
  readonly notice: string;
  /** The text of the file. */
  readonly content: string;
}

/** The turns of a request that Anthropic's rules allow, which are the strictest. The first text is that of the notice. */
function turnsOf(messages: Transcript): readonly Turn[] {
  const talk = messages.filter(({ role }) => role !== "system");
  const request = anthropic.encode([NOTICE, ...talk]);
  const names = new Map<string, string>();
  const turns = asArray(asObject(request).messages).map((item): Turn => {
    const { role, content } = asObject(item);
    const values = typeof content === "string" ? [{ type: "text", text: content }] : asArray(content);
    const blocks = values.flatMap((value) => blockOf(asObject(value), names));
    return { role: role === "assistant" ? "assistant" : "user", blocks };
  });
  // A request that ends with an answer asks to go on; here the user does that.
  const last = turns.at(-1)?.blocks;
  const isAsked = last?.length === 1 && last[0]?.type === "text" && last[0].text === CONTINUE_REQUEST;
  const isOurs = isAsked && talk.at(-1)?.role === "assistant";
  return isOurs ? turns.slice(0, -1) : turns;
}

/** Stands in front, so that the conversation begins with a message of the user. */
const NOTICE: Message = {
  id: "carryover-notice",
  role: "user",
  parts: [{ type: "text", text: "[…]", synthetic: true }],
};

/** The turns with the notice in its place. The next text is not glued to it where an agent shows both as one. */
function withNotice([first, ...rest]: readonly Turn[], notice: string): readonly Turn[] {
  const text: Block = { type: "text", text: `${notice}\n` };
  return [{ role: "user", blocks: [text, ...(first?.blocks.slice(1) ?? [])] }, ...rest];
}

/**
 * The messages with those images that are at hand, as Anthropic's requests hold them: its format gives back what it has
 * read. The newest count first, as many as there is room for.
 */
function withImages(messages: Transcript, maxImages: number): Transcript {
  const room = { images: maxImages, chars: MAX_IMAGE_CHARS };
  const image = (file: FilePart): object | undefined => {
    const data = isImage(file) ? fileBase64(file) : undefined;
    if (data === undefined || room.images === 0 || data.length > room.chars) return undefined;
    room.images--;
    room.chars -= data.length;
    return { type: "image", source: { type: "base64", media_type: file.mime, data } };
  };
  const read = (content: readonly unknown[]): Part | undefined =>
    anthropic.decode(content as never)[0]?.parts[0];
  const carried = (part: Part, role: string): Part => {
    if (part.type === "file") {
      const block = role === "user" ? image(part) : undefined;
      return (block && read([{ role: "user", content: [block] }])) ?? { ...part };
    }
    if (part.type !== "tool" || part.outcome.status !== "done" || !isObject(part.input)) return part;
    const { output, attachments } = part.outcome;
    const blocks = attachments.map(image);
    if (blocks.length === 0) return part;
    // One that cannot be carried is named, and then all are: a copy is known to no format.
    if (blocks.includes(undefined)) return { ...part, input: { ...part.input } };
    const text = output.trim() === "" ? [] : [{ type: "text", text: output }];
    const { tool: name, input, callId } = part;
    const known = read([
      { role: "assistant", content: [{ type: "tool_use", id: "call", name, input }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "call", content: [...text, ...blocks] }],
      },
    ]);
    return known?.type === "tool" ? { ...known, callId } : part;
  };
  return messages
    .toReversed()
    .map((message) => {
      if (!message.parts.some((part) => filesOf(part) > 0)) return message;
      return { ...message, parts: message.parts.map((part) => carried(part, message.role)) };
    })
    .toReversed();
}

/** How many images are carried: as many as providers take, and at most half of a budget. */
function imageRoom(messages: Transcript, budgetChars = Number.POSITIVE_INFINITY): number {
  const files = partsOf(messages).flatMap((part) => {
    if (part.type === "file") return [part];
    return part.type === "tool" && part.outcome.status === "done" ? part.outcome.attachments : [];
  });
  const most = Math.min(MAX_IMAGES, Math.floor(budgetChars / 2 / IMAGE_CHARS));
  return Math.min(most, files.filter(isImage).length);
}

function isImage(file: FilePart): boolean {
  return IMAGES.test(file.mime) && fileBase64(file) !== undefined;
}

/** What providers take as images. */
const IMAGES = /^image\/(?:png|jpeg|gif|webp)$/;
export const MAX_IMAGES = 20;
export const MAX_IMAGE_CHARS = 15_000_000;

function partsOf(messages: Transcript): readonly Part[] {
  return messages.flatMap(({ parts }) => parts);
}

function isPending(part: Part): boolean {
  return part.type === "tool" && part.outcome.status === "pending";
}

/** What a request has no place for: it is taken out when the session is written, or with a secret. */
function controlsIn(messages: Transcript): number {
  return partsOf(messages).reduce((sum, part) => {
    if (part.agentVisible === false || (part.type !== "text" && part.type !== "tool")) return sum;
    return sum + controlsOf(part.type === "text" ? part.text : outcomeText(part.outcome));
  }, 0);
}

function controlsOf(text: string): number {
  if (!isMalformed(text)) return 0;
  const { escapeSequences, controls, overwrites } = normalizeByLines(text).removed;
  return escapeSequences + controls + overwrites;
}

function filesOf(part: Part): number {
  if (part.type === "file") return 1;
  return part.type === "tool" && part.outcome.status === "done" ? part.outcome.attachments.length : 0;
}

/** Reasoning is signed or encrypted by whoever made it. */
function withoutReasoning(message: Message): Message {
  const parts = message.parts.filter(({ type }) => type !== "reasoning");
  return parts.length === message.parts.length ? message : { ...message, parts };
}

function blockOf(value: UnknownObject, names: Map<string, string>): readonly Block[] {
  const id = asString(value.id) ?? asString(value.tool_use_id) ?? "";
  switch (value.type) {
    case "text":
      return [{ type: "text", text: asString(value.text) ?? "" }];
    case "image":
      return imageOf(value);
    case "tool_use": {
      const tool = asString(value.name) ?? "";
      names.set(id, tool);
      return [{ type: "call", id, tool, input: value.input }];
    }
    case "tool_result": {
      const content = contentBlocks(value.content).map(asObject);
      const text = content.flatMap((block) => asString(block.text) ?? []).join("\n");
      const images = content.flatMap(imageOf);
      const tool = names.get(id) ?? "";
      return [{ type: "result", id, tool, text, images, isError: value.is_error === true }];
    }
    default:
      return [];
  }
}

function imageOf({ type, source }: UnknownObject): readonly ImageBlock[] {
  const { media_type, data } = asObject(source);
  if (type !== "image" || typeof media_type !== "string" || typeof data !== "string") return [];
  return [{ type: "image", mime: media_type, base64: data }];
}

function noticeOf(source: HandoffSource, facts: HandoffFacts): string {
  const { format, sessionId, path } = source;
  const name = sessionId === undefined ? "" : `, session ${nameText(sessionId)}`;
  const from = facts.from === undefined ? "" : `, which came from ${facts.from}`;
  const done = `${whatWasDone(facts, source)}.${beforeText(facts)}`;
  return `[Handed over by Carryover from ${sessionFormatOf(format)?.agent ?? format}${name}${from}: ${done} ${originalsText([...(facts.originals ?? []), path])}]`;
}

/** What an earlier handoff or rescue had done to a session. */
export function beforeText({ before = "" }: EarlierHandoff): string {
  return before === "" ? "" : ` Before that: ${before}.`;
}

/** The sessions of which one was made, the first one first. */
export function originalsText(names: readonly string[]): string {
  const are = names.length === 1 ? "original is" : "originals are";
  return `The ${are} untouched: ${names.map(nameText).join(", ")}`;
}

/** What was done to a session, for its first text. */
export function whatWasDone(
  facts: HandoffFacts,
  { damagedLines = 0, mendedLines = 0 }: Partial<HandoffSource> = {},
): string {
  const say = (count: number, text: (things: (noun: string) => string) => string): string =>
    count === 0 ? "" : text((noun) => plural(count, noun));
  return [
    callsText(facts),
    say(facts.lostCalls, (count) => `${count("result")} as text, for want of the call`),
    say(facts.shortened, (count) => `${count("part")} shortened to fit`),
    say(facts.replaced, (count) => `${count("message")} summed up without a model`),
    say(facts.leftOut, (count) => `${count("message")} left out that did not fit`),
    say(facts.summarized, (count) => `${count("message")} left out that a summary stands for`),
    say(
      facts.broughtBack,
      (count) =>
        `${count("message")} brought back, since the ${facts.isEncrypted ? "summary that stood for them cannot be read here" : "compaction left no summary"}`,
    ),
    say(facts.secrets, (count) => `${count("secret")} taken out`),
    say(damagedLines, (count) => `${count("damaged line")} left out`),
    say(mendedLines, (count) => `${count("damaged line")} read as far as possible`),
    say(facts.nulChars, (count) => `${count("NUL character")} shown as ␀`),
    say(facts.controls, (count) => `${count("control sequence")} of terminals taken out`),
    say(facts.images, (count) => `${count("image")} carried`),
    say(facts.files, (count) => `${count("attached file")} named, not carried`),
    facts.reasoning ? "reasoning left out" : "",
    say(
      facts.commented,
      (count) =>
        `${count("call")} without a counterpart here (${facts.foreign.join(", ")}) shown as ${facts.commented === 1 ? "a comment" : "comments"} of the shell`,
    ),
  ]
    .filter((text) => text !== "")
    .join("; ");
}

/** How many calls there are, and whether they have their results. */
function callsText({ calls, results }: Pick<HandoffFacts, "calls" | "results">): string {
  if (calls === 0) return "no tool calls";
  const missing = calls - results;
  const all = plural(calls, "tool call");
  if (missing === 0) return `${all} with ${calls === 1 ? "its result" : "their results"}`;
  return missing === calls ? `${all} without a result` : `${all}, ${missing} of them without a result`;
}
