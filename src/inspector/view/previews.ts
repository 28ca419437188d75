import {
  breakEvenSteps,
  chooseForkWay,
  EXPECTED_FORK_STEPS,
  overheadTokens,
} from "../../fork/context/choose-way.ts";
import { formatMessagesAsContext } from "../../fork/context/format.ts";
import type { ForkOptions } from "../../fork/context/options.ts";
import { buildForkPreamble } from "../../fork/context/preamble.ts";
import { type ForkResult, processMessagesForFork, uncutStats } from "../../fork/fork.ts";
import type { FormatName } from "../../formats/detect-format.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { CACHE_PROFILES, type CacheProfile } from "../../stages/cache-profiles.ts";
import { repairPairing } from "../../stages/repair.ts";
import type { TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import { applyEdits } from "../../transcript/edit.ts";
import { estimateMessageTokens } from "../../transcript/estimate-message.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";
import { renderMessage } from "../../transcript/render.ts";
import { foldNow } from "./policies.ts";
import type {
  CacheCost,
  CompactionPreview,
  CompactionPreviewOptions,
  ForkPreview,
  ForkPreviewOptions,
} from "./types.ts";

/** What a child of the same kind would read before its task if it were started now. */
export function previewForkOf(source: ForkSource, options: ForkPreviewOptions): ForkPreview {
  const { sent, family, profile, windowTokens } = source;
  const tokensOf = (messages: Transcript): number =>
    messages.reduce(
      (sum, message) => sum + estimateMessageTokens(message, { estimator: "calibrated", family }),
      0,
    );
  const pipeline = pipelineOptions(source, options);
  const graduated = source.graduate(source.recorded, pipeline);
  const besideTokens = overheadTokens(sent, tokensOf);
  const fullTokens = tokensOf(sent);
  const inherited = { exact, graduated: repaired, text: asText }[options.way]({
    source,
    graduated,
    pipeline,
  });
  const tokens =
    tokensOf(inherited.messages) +
    source.tokensOf(options.way === "text" ? inherited.text : inherited.preamble);
  return {
    way: options.way,
    text: inherited.text,
    chars: inherited.text.length,
    tokens,
    messages: inherited.count,
    chosen: chooseForkWay({
      setting: "auto",
      hook: "seen",
      receiver: "same",
      viewAgeMs: 0,
      fullTokens,
      graduatedTokens: tokensOf(graduated.messages),
      fixedTokens: besideTokens,
      ...(windowTokens !== undefined && { windowTokens }),
      cacheReadPrice: profile.readMultiplier,
      cacheWritePrice: profile.writeMultiplier,
      finishedSteps: [],
    }),
    cache: computeCacheCost({
      profile,
      unchangedTokens: besideTokens + fullTokens,
      changedTokens: besideTokens + tokens,
      sharedTokens: besideTokens + (options.way === "exact" ? fullTokens : 0),
      steps: EXPECTED_FORK_STEPS,
    }),
  };
}

/** A conversation at the moment of a fork. */
interface ForkSource {
  readonly recorded: Transcript;
  /** The messages as the session's own program sends them. */
  readonly sent: Transcript;
  readonly sessionId?: string;
  readonly family: TokenFamily;
  readonly profile: CacheProfile;
  /** Unset when nobody said. */
  readonly windowTokens?: number;
  readonly tokensOf: (text: string) => number;
  /** The pipeline, from a memory where it ran on the same a moment ago. */
  readonly graduate: Graduate;
}

type Graduate = (recorded: Transcript, options: ForkOptions) => ForkResult;

/** The pipeline with a memory of one: the ways of a fork are looked at one after the other. */
export function memoizeForkPipeline(): Graduate {
  let last: { readonly key: string; readonly recorded: Transcript; readonly result: ForkResult } | undefined;
  return (recorded, options) => {
    const key = JSON.stringify(options);
    const isSame = last?.key === key && isSameList(last.recorded, recorded);
    const result = last !== undefined && isSame ? last.result : processMessagesForFork(recorded, options);
    last = { key, recorded, result };
    return result;
  };
}

function isSameList(one: Transcript, other: Transcript): boolean {
  return one.length === other.length && one.every((message, index) => message === other[index]);
}

interface Inherited {
  readonly text: string;
  readonly preamble: string;
  /** Those that are sent as messages. */
  readonly messages: Transcript;
  readonly count: number;
}

interface InheritInput {
  readonly source: ForkSource;
  readonly graduated: ForkResult;
  readonly pipeline: ForkOptions;
}

function exact({ source: { sent } }: InheritInput): Inherited {
  return asMessages(sent, buildForkPreamble(uncutStats(sent)));
}

function repaired({ source: { recorded }, graduated }: InheritInput): Inherited {
  const left = applyEdits(recorded, graduated.edits, AT);
  const sendable = applyEdits(left, repairPairing(left), AT).filter(isVisibleToModel);
  return asMessages(sendable, buildForkPreamble(graduated.stats));
}

function asText({ graduated, pipeline }: InheritInput): Inherited {
  const { text, stats } = formatMessagesAsContext(graduated.messages, graduated.stats, pipeline);
  const preamble = buildForkPreamble(stats);
  const whole = text === "" ? "" : `${preamble}\n\n${text}`;
  return { text: whole, preamble, messages: [], count: stats.finalCount };
}

function asMessages(messages: Transcript, preamble: string): Inherited {
  const about = renderMessage({ id: "preamble", role: "user", parts: [{ type: "text", text: preamble }] });
  const text = messages.map(renderMessage).join("");
  return { text: text === "" ? "" : `${text}\n${about}`, preamble, messages, count: messages.length };
}

function pipelineOptions(
  { sessionId }: ForkSource,
  { budgetChars, profile }: ForkPreviewOptions,
): ForkOptions {
  return {
    budgetChars: Math.max(MIN_BUDGET_CHARS, budgetChars),
    profile,
    ...(sessionId !== undefined && { sessionId }),
  };
}

const AT = { at: 0 };
const MIN_BUDGET_CHARS = 512;

/** What a compaction would leave if it were made now, with the summary that needs no model. */
export function previewCompactionOf(
  { recorded, format, windowTokens, profile, tokensOf }: CompactionSource,
  { keepTokens }: CompactionPreviewOptions,
): CompactionPreview {
  const folded = foldNow(recorded, { format, windowTokens, keepTokens });
  if (folded.status === "unchanged")
    return {
      status: "nothing",
      reason: WHY_NOT[folded.reason] ?? `Nothing was compacted: ${folded.reason}.`,
    };
  const { plan, summary, messages, tokensAfter } = folded;
  const { request, tokensBefore, foldedIds, keptIds, firstKeptId } = plan;
  const text = textOf(messages);
  const firstKeptIndex = recorded.findIndex(({ id }) => id === firstKeptId);
  return {
    status: "planned",
    summary,
    text,
    foldedMessages: foldedIds.length,
    keptMessages: keptIds.length,
    ...(firstKeptIndex !== -1 && { firstKeptIndex }),
    tokensBefore,
    tokensAfter,
    charsBefore: textOf(filterCompacted(recorded)).length,
    charsAfter: text.length,
    request: {
      system: request.system,
      prompt: request.prompt,
      tokens: tokensOf(request.system) + tokensOf(request.prompt),
    },
    cache: computeCacheCost({
      profile,
      unchangedTokens: tokensBefore,
      changedTokens: tokensAfter,
      sharedTokens: 0,
      steps: EXPECTED_FORK_STEPS,
    }),
  };
}

/** A conversation at the moment of a compaction. */
interface CompactionSource {
  readonly recorded: Transcript;
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly profile: CacheProfile;
  readonly tokensOf: (text: string) => number;
}

const WHY_NOT: Readonly<Record<string, string>> = {
  empty: "There is nothing to compact yet.",
  "nothing-old": "Everything is recent enough to stay word for word.",
  "too-little": "What is old is too little to be worth a summary.",
  "no-gain": "A summary would save less than a tenth, so nothing is done.",
  "lost-content": "Something that must stay would be lost, so nothing is done.",
};

function textOf(messages: Transcript): string {
  return messages.filter(isVisibleToModel).map(renderMessage).join("");
}

/** What a changed window costs against the unchanged one, at the prices of a provider's cache. */
function computeCacheCost({
  profile,
  unchangedTokens,
  changedTokens,
  sharedTokens,
  steps,
}: CacheCostInput): CacheCost {
  const { readMultiplier, writeMultiplier } = profile;
  const readTokens = Math.min(sharedTokens, changedTokens);
  const writtenTokens = changedTokens - readTokens;
  const firstBaseTokens = readTokens * readMultiplier + writtenTokens * writeMultiplier;
  const appendOnlyBaseTokens = unchangedTokens * readMultiplier;
  const total = firstBaseTokens + (steps - 1) * changedTokens * readMultiplier;
  const evenSteps = breakEvenSteps({
    // What is shared is read either way.
    fullTokens: unchangedTokens - readTokens,
    graduatedTokens: writtenTokens,
    cacheReadPrice: readMultiplier,
    cacheWritePrice: writeMultiplier,
  });
  return {
    pricesKnown: profile !== CACHE_PROFILES.none,
    readMultiplier,
    writeMultiplier,
    readTokens,
    writtenTokens,
    firstBaseTokens,
    appendOnlyBaseTokens,
    relativeCost: appendOnlyBaseTokens === 0 ? 1 : total / (steps * appendOnlyBaseTokens),
    expectedSteps: steps,
    ...(Number.isFinite(evenSteps) && { breakEvenSteps: evenSteps }),
  };
}

interface CacheCostInput {
  readonly profile: CacheProfile;
  /** The next request when nothing is changed, all of it cached. */
  readonly unchangedTokens: number;
  readonly changedTokens: number;
  /** What both begin with. */
  readonly sharedTokens: number;
  /** Requests that follow, counting the next one. */
  readonly steps: number;
}
