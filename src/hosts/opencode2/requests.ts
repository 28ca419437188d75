import { readModel } from "../../agents/opencode/read-facts.ts";
import type { AgentPlugin, OutgoingRequest } from "../../plugin/host/agent-host.ts";
import type { ModelFacts } from "../../plugin/host/host-parts.ts";
import { asArray, asObject, asString, type UnknownObject } from "../../text/unknown-value.ts";
import { listModels, type SetupContext } from "./abilities.ts";
import { type AnswerFacts, textOfContent } from "./messages.ts";

/** A request as the host shows it before it is written for a provider. All of it may be changed. */
export interface ContextEvent {
  readonly sessionID: string;
  readonly agent?: string;
  readonly model?: unknown;
  system: unknown[];
  messages: object[];
  tools: Record<string, unknown>;
}

/** The request that an event is, as the plugin edits it: its frame is the system prompt and the tools. */
export function outgoingRequest(event: ContextEvent, answers: AnswerFacts): OutgoingRequest {
  return {
    sessionId: event.sessionID,
    get messages() {
      return event.messages;
    },
    model: modelOf(event.model),
    get lastAnswerAtMs() {
      const ids = event.messages.map((message) => asString(asObject(message).id) ?? "");
      return ids.map((id) => answers.of(id)?.endedAtMs).findLast((atMs) => atMs !== undefined);
    },
    get frame() {
      return { system: event.system, tools: event.tools };
    },
    set frame(frame: unknown) {
      const { system, tools } = asObject(frame);
      event.system.splice(0, event.system.length, ...asArray(system));
      for (const name of Object.keys(event.tools)) delete event.tools[name];
      Object.assign(event.tools, structuredClone(asObject(tools)));
    },
  } as OutgoingRequest;
}

/** Restores an event; late edits then change lists that are not sent. */
export function restoreContext(event: ContextEvent): () => void {
  const { system, messages, tools } = event;
  const before = { system: [...system], messages: [...messages], tools: { ...tools } };
  return () => Object.assign(event, before);
}

function modelOf(model: unknown): { readonly provider: string; readonly id: string } {
  const { id, providerID } = asObject(model);
  return { provider: asString(providerID) ?? "", id: asString(id) ?? "" };
}

/** What the host says about its models. */
export interface ModelList {
  of(model: unknown): Promise<ModelFacts>;
  /** To be asked for again: the list has changed. */
  refresh(): void;
}

export function createModelList(context: SetupContext): ModelList {
  let listed: Promise<readonly UnknownObject[]> | undefined;
  return {
    async of(model) {
      const named = modelOf(model);
      listed ??= listModels(context).catch(() => []);
      const found = (await listed).find((each) => each.id === named.id && each.providerID === named.provider);
      // The host knows its models only some time after it has loaded its plugins.
      if (found === undefined) listed = undefined;
      return { ...named, ...(found && readListed(found)) };
    },
    refresh() {
      listed = undefined;
    },
  };
}

/** Prices for longer contexts follow behind the first. */
function readListed(found: UnknownObject): Partial<ModelFacts> {
  const facts = readModel({ ...found, cost: asArray(found.cost)[0] }) ?? {};
  const { contextTokens = 0, outputTokens = 0 }: Partial<ModelFacts> = facts;
  const isWide = contextTokens > 2 * COMPACTION_BUFFER_TOKENS;
  return isWide ? { ...facts, outputTokens: Math.max(outputTokens, COMPACTION_BUFFER_TOKENS) } : facts;
}

/**
 * The host compacts when so much is left of a window, also where an answer may be shorter; what must happen before that goes
 * by it. Its setting `compaction.buffer` is not shown to plugins. A window that this would nearly fill is left as it is.
 */
const COMPACTION_BUFFER_TOKENS = 20_000;

/** The headers of a request, by which providers find a cached prefix. */
export interface HeadersEvent {
  readonly sessionID: string;
  readonly headers: Record<string, string>;
}

/** Gives the child of an exact fork the headers of the session whose cache it uses. */
export async function useHeadersOfOwner(
  { sessionID, headers }: HeadersEvent,
  plugin: CacheOwners,
): Promise<void> {
  const owner = await plugin.cacheOwnerOf(sessionID);
  if (owner === undefined) return;
  for (const [name, value] of Object.entries(headers))
    if (value === sessionID && name.toLowerCase() !== NAME_OF_REQUEST) headers[name] = owner;
}

/** Names the session of a request, for statistics; the cache key does not depend on it. */
const NAME_OF_REQUEST = "x-session-id";

/** A request as it goes out. */
export interface HttpEvent {
  readonly sessionID: string;
  request: Request;
}

/** Gives the child of an exact fork the cache key of the session whose cache it uses. */
export async function useCacheKeyOfOwner(event: HttpEvent, plugin: CacheOwners): Promise<void> {
  const { sessionID, request } = event;
  const owner = await plugin.cacheOwnerOf(sessionID);
  if (owner === undefined || request.body === null) return;
  const text = await request.clone().text();
  const key = `"prompt_cache_key":${JSON.stringify(cacheKey(sessionID))}`;
  if (!text.includes(key)) return;
  const body = text.replace(key, () => `"prompt_cache_key":${JSON.stringify(cacheKey(owner))}`);
  event.request = new Request(request, { body });
}

type CacheOwners = Pick<AgentPlugin, "cacheOwnerOf">;

/** The host's own rule: an id that is a hash stands without its kind, since providers take 64 characters. */
function cacheKey(sessionId: string): string {
  return /^ses_[0-9a-f]{64}$/.test(sessionId) ? sessionId.slice(4) : sessionId;
}

/** Reads the messages of a session, as the host would send them now. */
export interface SessionReader {
  read(sessionId: string): Promise<readonly UnknownObject[]>;
  /** True for a request that is only there to be read: it must go no further. */
  takes(event: Pick<ContextEvent, "messages">): boolean;
  /** The same of one that would go out without having been shown to us, as GA may do it; untried there. */
  leaks(request: Request): Promise<boolean>;
}

/**
 * The context has no call that reads messages. `generate` prepares a request of the whole conversation, shows it to our
 * `context` hook, and sends it: the hook takes the messages and ends it there, so nothing is sent and nothing is stored. It
 * works for sessions at rest, at work (up to the answer that is being made), and of an earlier start of the program; the host
 * logs nothing of it.
 */
export function createSessionReader({ session }: Pick<SetupContext, "session">): SessionReader {
  /** Undefined until it was shown to us. */
  const taken = new Map<string, readonly UnknownObject[] | undefined>();
  let reads = 0;
  return {
    async read(sessionId) {
      reads += 1;
      const marker = `${MARKER} ${process.pid}.${reads}`;
      taken.set(marker, undefined);
      const [failure] = await Promise.allSettled([
        session.generate({ sessionID: sessionId, prompt: marker }),
      ]);
      const messages = taken.get(marker);
      taken.delete(marker);
      if (messages === undefined)
        throw failure.status === "rejected" ? failure.reason : new Error("it was not shown to us");
      return messages;
    },
    takes({ messages }) {
      const marker = markerIn(messages);
      if (marker === undefined) return false;
      // One of another instance of the plugin is not ours to keep, and goes no further either.
      if (taken.has(marker)) taken.set(marker, asArray(messages).slice(0, -1).map(asObject));
      return true;
    },
    async leaks(request) {
      if (taken.size === 0 || request.body === null) return false;
      const text = await request.clone().text();
      return [...taken.keys()].some((marker) => text.includes(marker));
    },
  };
}

/** The marker of a request that is only there to be read; a message that cannot be read has none. */
function markerIn(messages: readonly unknown[]): string | undefined {
  try {
    const { role, content } = asObject(messages.at(-1));
    const text = role === "user" ? textOfContent(content) : "";
    return text.startsWith(MARKER) ? text : undefined;
  } catch {
    return undefined;
  }
}

const MARKER = "carryover reads this session, and nothing is sent:";

/** Ends a request that was only there to be read. */
export class ReadOnly extends Error {
  constructor() {
    super(TAKEN);
  }
}

const TAKEN = "carryover has read the session; nothing was sent";
