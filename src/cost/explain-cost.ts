import { type CacheProfile, cacheProfile, NO_CACHE } from "../models/cache-profile.ts";
import { ownRow } from "../models/model-facts.ts";
import type { ModelRow } from "../models/model-row.ts";
import { formatNumber } from "../text/format-number.ts";
import { safeJson } from "../text/json.ts";
import { asObject, asString, omitUndefined } from "../text/unknown-value.ts";
import {
  type CostTotals,
  createPriceFinder,
  type ExplainedRequest,
  priceCacheMiss,
  priceRequest,
  promptTokensOf,
  type RecordedPrompt,
  type RecordedRequest,
  totalsOf,
  totalUSD,
} from "./recorded-request.ts";

/**
 * What the requests of a session cost, and which of them did not find in the provider's cache what the request before had
 * left there: how much was paid again, from where on, and why.
 */
export function explainCost(
  requests: readonly RecordedRequest[],
  { models }: { readonly models?: readonly ModelRow[] | undefined } = {},
): SessionCost {
  const previous = previousRequests(requests);
  const priceFor = createPriceFinder(models);
  const profileOf = createProfileFinder(models);
  const explained = requests.map((request, index): ExplainedRequest => {
    const price = priceFor(request);
    const byKind = price && priceRequest(request, price);
    // What the agent says holds, unless prices of this model were given.
    const isGiven = ownRow(request.model ?? {}, models)?.prices !== undefined;
    const recorded = isGiven ? undefined : request.costUSD;
    const costUSD = recorded ?? (byKind && totalUSD(byKind));
    const { prompt: _, since: __, continues: ___, costUSD: ____, ...rest } = request;
    const priced = recorded !== undefined ? "agent" : price !== undefined ? "table" : "unknown";
    return { ...rest, index, ...omitUndefined({ costUSD, byKind }), priced };
  });
  const misses = requests.flatMap((request, index) => {
    const before = previous[index];
    const found = before && findMiss(requests, { index, before, profileOf });
    if (!found) return [];
    const price = priceFor(request);
    const costUSD = price && priceCacheMiss(request, found.missedTokens, price);
    return [{ ...found, request: index, ...omitUndefined({ costUSD }) }];
  });
  return {
    requests: explained,
    totals: totalsOf(explained),
    misses,
    cacheMissCost: {
      tokens: misses.reduce((sum, { missedTokens }) => sum + missedTokens, 0),
      costUSD: misses.reduce((sum, { costUSD = 0 }) => sum + costUSD, 0),
    },
  };
}

/** What a session cost, request by request. */
export interface SessionCost {
  readonly requests: readonly ExplainedRequest[];
  readonly totals: CostTotals;
  /** In their order; `mostExpensive` sorts them. */
  readonly misses: readonly CacheMiss[];
  /** What was paid more because the cache did not have what it could have had. */
  readonly cacheMissCost: { readonly tokens: number; readonly costUSD: number };
}

/** A request that found less in the cache than the one before had left there. */
export interface CacheMiss {
  /** Its place among the requests. */
  readonly request: number;
  readonly cause: MissCause;
  /** What would have caused it as well. */
  readonly also: readonly MissCause[];
  /** `recorded`: the file says so. `likely`: it follows from times and counts. */
  readonly certainty: "recorded" | "likely";
  /** More of the cause, for people; may be empty. */
  readonly detail: string;
  /** What the request before had left in the cache. */
  readonly cachedTokens: number;
  /** Of that what the cache could have given and did not. */
  readonly lostTokens: number;
  /** Of it what was sent again, and paid. */
  readonly missedTokens: number;
  readonly costUSD?: number;
  /** How long nothing was asked before. */
  readonly pauseMs?: number;
  /** The newest request all of whose prompt was still cached: what follows it was lost. Unset: from the beginning. */
  readonly keptThrough?: number;
  /** The first message that was sent differently, counted from 0, where requests are recorded. */
  readonly messageIndex?: number;
}

/** Why a cached beginning was not read again. */
export type MissCause =
  | "model"
  | "compaction"
  | "tools"
  | "system"
  | "settings"
  | "message"
  | "idle"
  | "provider"
  | "unknown";

/** In a few words why the cache was not read. */
export const CAUSE_NAMES: Readonly<Record<MissCause, string>> = {
  model: "another model",
  compaction: "compaction",
  tools: "changed tools",
  system: "changed system prompt",
  settings: "changed settings",
  message: "changed messages",
  idle: "idle too long",
  provider: "provider miss",
  unknown: "unknown",
};

/** A sentence about a cache miss: its cause, more of it, and how much was still cached. */
export function describeMiss(found: CacheMiss): string {
  const { cause, certainty, detail, also, cachedTokens, lostTokens } = found;
  const likely = certainty === "likely" && cause !== "unknown" ? " (likely)" : "";
  const more = detail === "" ? "" : `: ${detail}`;
  const others = also.length === 0 ? "" : `; also ${also.map((each) => CAUSE_NAMES[each]).join(", ")}`;
  const kept = `; ${formatNumber(cachedTokens - lostTokens)} of ${formatNumber(cachedTokens)} were still there`;
  return `${CAUSE_NAMES[cause]}${likely}${more}${others}${cause === "unknown" ? kept : ""}`;
}

/** For each request the one that it goes on from; undefined for the first of a thread. */
function previousRequests(requests: readonly RecordedRequest[]): readonly (RecordedRequest | undefined)[] {
  const byId = new Map<string, RecordedRequest>();
  const newest = new Map<string, RecordedRequest>();
  return requests.map((request) => {
    const named = request.continues === undefined ? undefined : byId.get(request.continues);
    const previous = named ?? newest.get(request.thread);
    byId.set(request.id, request);
    newest.set(request.thread, request);
    return previous;
  });
}

interface MissContext {
  readonly index: number;
  readonly before: RecordedRequest;
  readonly profileOf: ProfileFinder;
}

type ProfileFinder = (request: RecordedRequest) => CacheProfile;

function createProfileFinder(rows: readonly ModelRow[] | undefined): ProfileFinder {
  const known = new Map<string, CacheProfile>();
  return ({ model }) => {
    if (model === undefined) return NO_CACHE;
    const key = `${model.provider}/${model.id}`;
    const profile = known.get(key) ?? cacheProfile(model, { rows });
    known.set(key, profile);
    return profile;
  };
}

function findMiss(
  requests: readonly RecordedRequest[],
  { index, before, profileOf }: MissContext,
): Omit<CacheMiss, "request" | "costUSD"> | undefined {
  const request = requests[index] ?? before;
  const { cacheReadTokens, inputTokens, cacheWriteTokens } = request.usage;
  const leftTokens = cachedTokens(before, profileOf(before));
  const lostTokens = leftTokens - cacheReadTokens;
  const missedTokens = Math.min(lostTokens, inputTokens + cacheWriteTokens);
  if (missedTokens < LEAST_TOKENS) return undefined;
  const pauseMs =
    request.atMs === undefined || before.atMs === undefined ? undefined : request.atMs - before.atMs;
  const writer = findBefore(requests, index, ({ usage }) => usage.cacheWriteTokens > 0);
  const [first, ...others] = causesOf(request, before, {
    pauseMs,
    writer: requests[writer],
    profile: profileOf(request),
  });
  const keptThrough = findBefore(requests, index, (each) => {
    const tokens = cachedTokens(each, profileOf(each));
    return tokens > 0 && tokens <= cacheReadTokens;
  });
  return {
    cause: first?.cause ?? "unknown",
    also: others.map(({ cause }) => cause),
    certainty: first?.certainty ?? "likely",
    detail: first?.detail ?? "",
    cachedTokens: leftTokens,
    lostTokens,
    missedTokens,
    ...omitUndefined({
      pauseMs,
      keptThrough: keptThrough === -1 ? undefined : keptThrough,
      messageIndex: first?.messageIndex,
    }),
  };
}

/** The newest request of the same thread before one for which something is true; -1 where there is none. */
function findBefore(
  requests: readonly RecordedRequest[],
  index: number,
  isWanted: (request: RecordedRequest) => boolean,
): number {
  const thread = requests[index]?.thread;
  for (let at = index - 1; at >= 0; at--) {
    const request = requests[at];
    if (request !== undefined && request.thread === thread && isWanted(request)) return at;
  }
  return -1;
}

/** Less is no cache miss: parallel requests miss what the other is still writing, and providers cache in steps. */
const LEAST_TOKENS = 1_024;

/** What a request leaves in the cache: what it read and wrote; where writing is not counted, all of its prompt. */
function cachedTokens({ usage }: RecordedRequest, profile: CacheProfile): number {
  if (usage.cacheWriteTokens > 0 || profile.writeMultiplier > 1)
    return usage.cacheReadTokens + usage.cacheWriteTokens;
  const promptTokens = promptTokensOf(usage);
  return promptTokens < profile.minimumTokens ? 0 : promptTokens - (promptTokens % profile.stepTokens);
}

interface Cause {
  readonly cause: MissCause;
  readonly certainty: CacheMiss["certainty"];
  readonly detail: string;
  readonly messageIndex?: number;
}

interface CauseContext {
  readonly pauseMs: number | undefined;
  readonly profile: CacheProfile;
  /** The newest request of the thread that wrote to the cache. */
  readonly writer: RecordedRequest | undefined;
}

/** All that explains a cache miss, what explains most of it first; without a record that leaves only the provider, nothing may. */
function causesOf(
  request: RecordedRequest,
  before: RecordedRequest,
  context: CauseContext,
): readonly Cause[] {
  const causes: Cause[] = [];
  const isOtherModel =
    request.model !== undefined && before.model !== undefined && request.model.id !== before.model.id;
  if (isOtherModel)
    causes.push({
      cause: "model",
      certainty: "recorded",
      detail: `${request.model?.id} in place of ${before.model?.id}`,
    });
  const changes = request.since.map(
    ({ type, detail }): Cause => ({ cause: type, certainty: "recorded", detail }),
  );
  causes.push(...changes.filter(({ cause }) => cause === "compaction").slice(0, 1));
  const change = request.prompt && before.prompt ? promptChange(before.prompt, request.prompt) : undefined;
  const isMessage = (each: Pick<PromptChange, "cause">): boolean => each.cause === "message";
  // A compaction changes the messages; nothing else has to.
  if (
    change &&
    change.cause !== "none" &&
    !(isMessage(change) && causes.some(({ cause }) => cause === "compaction"))
  )
    causes.push({ ...change, cause: change.cause, certainty: "recorded" });
  else causes.push(...changes.filter(({ cause }) => cause !== "compaction"));
  const pause = pauseOf(context);
  if (pause) causes.push(pause);
  if (causes.length > 0) return causes;
  if (change?.cause === "none")
    return [{ cause: "provider", certainty: "recorded", detail: "the same beginning was sent" }];
  if (promptTokensOf(request.usage) < promptTokensOf(before.usage) - LEAST_TOKENS)
    return [{ cause: "message", certainty: "likely", detail: "less was sent than before" }];
  return [];
}

/** A pause that was longer than what was cached lives. */
function pauseOf({ pauseMs, writer, profile }: CauseContext): Cause | undefined {
  if (pauseMs === undefined) return undefined;
  const { ttlMs, writeMultiplier } = profile;
  const livesMs = writer !== undefined && writer.hourWriteTokens > 0 ? HOUR_MS : ttlMs;
  const minutes = `nothing was asked for ${duration(pauseMs)}`;
  if (livesMs > 0 && pauseMs > livesMs) return { cause: "idle", certainty: "recorded", detail: minutes };
  // Caches that nobody pays for are cleared when their place is needed, often after a few minutes.
  const isFree = writeMultiplier <= 1 && writer === undefined;
  return isFree && pauseMs > OFTEN_GONE_MS
    ? { cause: "idle", certainty: "likely", detail: minutes }
    : undefined;
}

function duration(ms: number): string {
  return ms < 2 * HOUR_MS ? `${Math.round(ms / 60_000)} minutes` : `${Math.round(ms / HOUR_MS)} hours`;
}

const HOUR_MS = 3_600_000;
const OFTEN_GONE_MS = 300_000;

/** Where two prompts that were sent one after the other begin to differ. */
interface PromptChange {
  /** `none`: the later one goes on where the earlier one ended. */
  readonly cause: "none" | "tools" | "system" | "settings" | "message";
  readonly detail: string;
  /** The first message that differs. */
  readonly messageIndex?: number;
}

/** Compares two recorded prompts in the order in which providers read them: tools, system prompt, messages. */
function promptChange(before: RecordedPrompt, after: RecordedPrompt): PromptChange {
  const tools = listChange(before.tools, after.tools, toolName);
  if (tools !== undefined) return { cause: "tools", detail: tools };
  const system = listChange(
    before.system,
    after.system,
    (_, index) => `part ${index + 1} of the system prompt`,
  );
  if (system !== undefined) return { cause: "system", detail: system };
  const messageIndex = before.messages.findIndex((hash, index) => after.messages[index] !== hash);
  if (messageIndex !== -1)
    return { cause: "message", detail: messageDetail(before, after, messageIndex), messageIndex };
  if (before.settings !== after.settings)
    return { cause: "settings", detail: "thinking, effort or other settings" };
  return { cause: "none", detail: "" };
}

function toolName(tool: unknown): string {
  return `the tool ${asString(tool) ?? asString(asObject(tool).name) ?? "without a name"}`;
}

/** What is different in a list: what was added, removed, moved, or the first that was changed and where. */
function listChange(
  before: readonly unknown[],
  after: readonly unknown[],
  nameOf: (item: unknown, index: number) => string,
): string | undefined {
  const [old, now] = [before.map(textOf), after.map(textOf)];
  const first = old.findIndex((text, index) => now[index] !== text);
  if (first === -1 && old.length === now.length) return undefined;
  const oldNames = before.map(nameOf);
  const nowNames = after.map(nameOf);
  const added = nowNames.filter((name) => !oldNames.includes(name));
  const removed = oldNames.filter((name) => !nowNames.includes(name));
  if (added.length > 0 || removed.length > 0)
    return [
      ...(added.length > 0 ? [`${listed(added)} added`] : []),
      ...(removed.length > 0 ? [`${listed(removed)} removed`] : []),
    ].join(", ");
  const name = oldNames[first] ?? "";
  if (name !== nowNames[first]) return `${name} in another place`;
  return `${name} from character ${formatNumber(sharedStart(old[first] ?? "", now[first] ?? ""))} on`;
}

/** Of a text block its text, so that places in it are those that people see. */
function textOf(item: unknown): string {
  const { type, text, ...rest } = asObject(item);
  const isPlain = type === "text" && typeof text === "string" && Object.keys(rest).length === 0;
  return isPlain ? text : safeJson(item);
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(", ");
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

const MAX_NAMES = 3;

function messageDetail(before: RecordedPrompt, after: RecordedPrompt, index: number): string {
  const [hash = "", next] = [before.messages[index], after.messages[index]];
  const place = `message ${index + 1} of ${before.messages.length}`;
  if (next === undefined || (before.messages[index + 1] === next && index + 1 < before.messages.length))
    return `${place} was removed`;
  const [old, now] = [before.textOf(hash), after.textOf(next)];
  if (old === undefined || now === undefined) return `${place} was changed`;
  return `${place} was changed from character ${formatNumber(sharedStart(old, now))} on`;
}

/** How many characters two texts have in common from the start. */
function sharedStart(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let index = 0;
  while (index < end && one.charCodeAt(index) === other.charCodeAt(index)) index++;
  return index;
}
