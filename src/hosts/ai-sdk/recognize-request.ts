import { hashEnds } from "../../formats/content/message-id.ts";
import {
  type AiSdkMessage,
  type AiSdkWire,
  contentOf,
  providerBlockOf,
} from "../../formats/wires/ai-sdk/ai-sdk-message.ts";
import type { ModelCall } from "../../middleware/language-model.ts";
import { safeJson, textOrJson } from "../../text/json.ts";
import { createLruMap } from "../../text/lru-map.ts";
import { asArray, asObject, asString } from "../../text/unknown-value.ts";

/**
 * Tells the requests of one conversation from those of others that use the same model: titles, sub-agents. An app may
 * edit its history, answer again, change its system prompt, leave out old messages or keep a compacted list: all that
 * is still the conversation. When in doubt it is.
 */
export interface RequestRecognizer {
  /** True for a request of the conversation, which is remembered as its newest. */
  isOwn(call: Pick<ModelCall, "prompt" | "tools">): boolean;
  /** True once a request of the conversation has come. */
  isBegun(): boolean;
}

/**
 * The first request is of the conversation, unless that is `resumed` and the request a single question without tools: a
 * check before the turn, which must not use up what there is to restore. `sentWire` is the newest request of the
 * conversation as it was sent.
 */
export function createRequestRecognizer(
  sentWire: () => AiSdkWire,
  start: "new" | "resumed" = "new",
): RequestRecognizer {
  let own: Seen | undefined;
  /** What was taken for the conversation before other requests took over. */
  let former: Seen | undefined;
  /** The newest requests of others, by their first message. */
  const others = createLruMap<string, Seen>(MAX_OTHERS);

  function isLike(next: Seen): boolean {
    if (own === undefined) return start === "new" || next.hasAnswers || next.tools.size > 0;
    if (extendsList(next.keys, own.keys)) return true;
    const frame = comparePromptHeads(own, next);
    const inMessages = sharedEvidence(next, own.keys);
    // An app that stores the compacted messages in place of all sends what we sent.
    const shared = inMessages === "none" ? sharedEvidence(next, keysOf(sentWire())) : inMessages;
    // An app that stores only what follows a provider's own compaction sends none of the messages before it.
    if (shared === "none") return frame === "same" || (frame === "unknown" && next.beginsWithBlock);
    return shared === "most" || frame !== "other";
  }

  /** True when these requests turn out to be the conversation: only a single question came before, or the user speaks here again. */
  function takesOver(next: Seen): boolean {
    const before = others.get(next.line);
    const isFirstSingle = own !== undefined && !own.hasAnswers && own.tools.size === 0;
    const isChat =
      before !== undefined && extendsList(next.keys, before.keys) && next.userTurns > before.userTurns;
    return next.hasAnswers && (isFirstSingle || isChat);
  }

  return {
    isBegun: () => own !== undefined,

    isOwn({ prompt, tools }) {
      const next = readRequest(prompt, tools);
      if (isLike(next)) {
        own = next;
        return true;
      }
      const isFormer = former !== undefined && extendsList(next.keys, former.keys);
      if (isFormer || takesOver(next)) {
        former = isFormer ? undefined : own;
        own = next;
        others.delete(next.line);
        return true;
      }
      others.set(next.line, next);
      return false;
    },
  };
}

/** How a conversation with these options of `carryover()` starts: resumed where there may be something to restore. */
export function startOf(options: object): "new" | "resumed" {
  const { restore, store, persist } = asObject(options);
  const mayRestore =
    asArray(asObject(restore).batches).length > 0 || (asObject(store).journal ?? persist) !== undefined;
  return mayRestore ? "resumed" : "new";
}

/** Lines of other requests that are remembered. */
const MAX_OTHERS = 8;

/** What is remembered of a request: no content, only what it is recognized by. */
interface Seen {
  /** By content: messages of the user and of the model, oldest first. */
  readonly keys: readonly string[];
  /** Names the line of requests that begin like this one. */
  readonly line: string;
  readonly hasAnswers: boolean;
  /** Its first message holds a compaction that the provider made. */
  readonly beginsWithBlock: boolean;
  readonly userTurns: number;
  readonly system: string;
  readonly tools: ReadonlySet<string>;
}

function readRequest(prompt: AiSdkWire, tools: ModelCall["tools"]): Seen {
  const said = prompt.filter(isSaid);
  const system = prompt.flatMap(({ role, content }) => (role === "system" ? [asString(content) ?? ""] : []));
  return {
    keys: keysOf(prompt),
    line: lineOf(prompt),
    hasAnswers: said.some(({ role }) => role === "assistant"),
    beginsWithBlock: said
      .slice(0, 1)
      .flatMap(contentOf)
      .some((part) => providerBlockOf(part) !== undefined),
    userTurns: said.filter(({ role }) => role === "user").length,
    system: system.join("\n"),
    tools: new Set(asArray(tools).map((tool) => textOrJson(asObject(tool).name))),
  };
}

/** The same for all requests of a tool loop or a chat, as long as its first message stays. */
export function lineOf(prompt: AiSdkWire): string {
  const first = prompt.find(isSaid);
  return first === undefined ? "" : keyOf(first);
}

function keysOf(prompt: AiSdkWire): readonly string[] {
  return prompt.filter(isSaid).map(keyOf);
}

function isSaid({ role }: AiSdkMessage): boolean {
  return role === "user" || role === "assistant";
}

/** A message by role and content; marks for caches and the like do not count, nor do thoughts, which hosts take out. */
function keyOf(message: AiSdkMessage): string {
  let hash = hashEnds(message.role);
  for (const part of contentOf(message)) {
    const { type, text, toolName, input, mediaType, filename } = part;
    if (type === "text") hash = hashEnds(textOrJson(text), hash);
    else if (type === "tool-call") hash = hashEnds(`${textOrJson(toolName)} ${safeJson(input)}`, hash);
    else if (type === "file") hash = hashEnds(`${textOrJson(mediaType)} ${textOrJson(filename)}`, hash);
  }
  return `${message.role} ${(hash >>> 0).toString(36)}`;
}

/** True when a list begins with the other one and goes on. */
function extendsList(longer: readonly string[], shorter: readonly string[]): boolean {
  return longer.length > shorter.length && shorter.every((key, index) => longer[index] === key);
}

/**
 * How much two requests have in common. `most`: half of the newer one or more, and more than one message. `some`: how the
 * conversation began or where it was, or two messages. One short message in the middle, such as "Go on.", is no evidence.
 */
function sharedEvidence(next: Seen, known: readonly string[]): "most" | "some" | "none" {
  const keys = new Set(known);
  const shared = next.keys.filter((key) => keys.has(key)).length;
  if (shared > 1 && shared * 2 >= next.keys.length) return "most";
  const newest = known.at(-1);
  const isAtEnds = next.keys[0] === known[0] || (newest !== undefined && next.keys.includes(newest));
  return shared > 1 || (shared > 0 && isAtEnds) ? "some" : "none";
}

/** Whether two requests are made for the same purpose, as far as system prompt and tools show it. */
function comparePromptHeads(one: Seen, other: Seen): "same" | "unknown" | "other" {
  const system = compareTexts(one.system, other.system);
  const tools = compareNames(one.tools, other.tools);
  if (system === "other") return tools === "same" ? "unknown" : "other";
  if (tools === "other") return system === "same" ? "unknown" : "other";
  return system === "same" || tools === "same" ? "same" : "unknown";
}

type Likeness = "same" | "other" | "absent";

/** A system prompt with another date in it, or with something added, is the same. */
function compareTexts(one: string, other: string): Likeness {
  if (one === other) return one === "" ? "absent" : "same";
  const shortest = Math.min(one.length, other.length);
  let start = 0;
  while (start < shortest && one[start] === other[start]) start++;
  let end = 0;
  while (end < shortest - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  return (start + end) * 2 >= Math.max(one.length, other.length) ? "same" : "other";
}

function compareNames(one: ReadonlySet<string>, other: ReadonlySet<string>): Likeness {
  if (one.size === 0 && other.size === 0) return "absent";
  const shared = [...one].filter((name) => other.has(name)).length;
  return shared * 2 >= Math.max(one.size, other.size) ? "same" : "other";
}
