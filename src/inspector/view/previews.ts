import {
  breakEvenSteps,
  chooseInheritMode,
  EXPECTED_FORK_STEPS,
  type InheritMode,
  overheadTokens,
} from "../../fork/context/choose-inherit-mode.ts";
import { buildForkPreamble, formatMessagesAsContext } from "../../fork/context/format.ts";
import type { ForkOptions } from "../../fork/context/options.ts";
import { type ForkResult, processMessagesForFork, uncutStats } from "../../fork/fork.ts";
import type { FormatName } from "../../formats/registry.ts";
import type { CacheProfile } from "../../models/cache-profile.ts";
import { filterCompacted } from "../../stages/boundary.ts";
import { repairPairing } from "../../stages/repair.ts";
import type { TokenFamily } from "../../text/tokens/estimate-tokens.ts";
import { renderMessage } from "../../transcript/content.ts";
import { applyEdits } from "../../transcript/edit.ts";
import { estimateMessageTokens } from "../../transcript/estimate-message.ts";
import { isVisibleToModel, type Transcript } from "../../transcript/message.ts";
import { compactFileWithoutModel } from "./plan-file-compaction.ts";
import type { PolicyRun } from "./policies.ts";
import type {
  CacheCost,
  CompactionPreview,
  CompactionPreviewOptions,
  ForkPreview,
  ForkPreviewOptions,
  ForkPreviews,
  ShownSize,
} from "./types.ts";

/** What a child with the same model would read before its task if it were started now, by each way. */
export function previewForks(source: ForkSource, options: ForkWanted): ForkPreviews {
  const { recorded, sent, family, profile, pricesKnown, windowTokens } = source;
  const tokensOf = (messages: Transcript): number =>
    messages.reduce(
      (sum, message) => sum + estimateMessageTokens(message, { estimator: "calibrated", family }),
      0,
    );
  const pipeline: ForkOptions = {
    budgetChars: Math.max(MIN_BUDGET_CHARS, options.budgetChars),
    profile: options.profile,
    ...(source.sessionId !== undefined && { sessionId: source.sessionId }),
  };
  const trimmed = processMessagesForFork(recorded, pipeline);
  const fullTokens = tokensOf(sent);
  const chosen = chooseInheritMode({
    setting: "auto",
    hook: "seen",
    receiver: "same",
    lastRequestAgeMs: 0,
    fullTokens,
    trimmedTokens: tokensOf(trimmed.messages),
    fixedTokens: overheadTokens(sent, tokensOf),
    ...(windowTokens !== undefined && { windowTokens }),
    cacheReadPrice: profile.readMultiplier,
    cacheWritePrice: profile.writeMultiplier,
    finishedSteps: [],
  });
  const { tokens: nowTokens, outsideTokens, scale } = source.now;
  const preview = (mode: InheritMode, { text, preamble, count, messageTokens }: Inherited): ForkPreview => {
    const added = source.tokensOf(mode === "text" ? text : preamble);
    const tokens = Math.round(outsideTokens + (messageTokens + added) * scale);
    return {
      mode,
      text,
      chars: text.length,
      tokens,
      messages: count,
      chosen,
      cache: computeCacheCost({
        profile,
        pricesKnown,
        unchangedTokens: nowTokens,
        changedTokens: tokens,
        sharedTokens: mode === "full" ? nowTokens : Math.round(outsideTokens),
      }),
    };
  };
  const left = applyEdits(recorded, trimmed.edits, AT);
  const repairs = repairPairing(left);
  const sendable = applyEdits(left, repairs, AT).filter(isVisibleToModel);
  const run = { source: recorded, edits: [...trimmed.edits, ...repairs], left: sendable };
  const previews = {
    full: preview("full", {
      ...asMessages(sent, buildForkPreamble(uncutStats(sent))),
      messageTokens: (nowTokens - outsideTokens) / scale,
    }),
    trimmed: preview("trimmed", {
      ...asMessages(sendable, buildForkPreamble(trimmed.stats)),
      messageTokens: source.tokensOfRun(run),
    }),
    text: preview("text", { ...asText(trimmed, pipeline), messageTokens: 0 }),
  };
  const largest = Math.max(previews.trimmed.tokens, previews.text.tokens);
  const smaller = smallerBudget(options, largest);
  return smaller === undefined ? previews : previewForks(source, { ...options, budgetChars: smaller });
}

type ForkWanted = ForkPreviewOptions & { readonly budgetChars: number };

/** The preamble and labels of a child count against its budget too. */
function smallerBudget({ budgetTokens, budgetChars }: ForkWanted, tokens: number): number | undefined {
  if (budgetTokens === undefined || tokens <= budgetTokens || budgetChars <= MIN_BUDGET_CHARS)
    return undefined;
  return Math.floor(Math.max(MIN_BUDGET_CHARS, budgetChars * 0.97 - 4 * (tokens - budgetTokens)));
}

/** How large the window is now, and what the messages of a run are estimated to take by the same rows. */
interface ShownSizes {
  readonly now: ShownSize;
  readonly tokensOfRun: (run: PolicyRun) => number;
}

/** A conversation at the moment of a fork. */
interface ForkSource extends ShownSizes {
  readonly recorded: Transcript;
  /** The messages as the session's own program sends them. */
  readonly sent: Transcript;
  readonly sessionId?: string;
  readonly family: TokenFamily;
  readonly profile: CacheProfile;
  readonly pricesKnown: boolean;
  /** Unset when it is not known. */
  readonly windowTokens?: number;
  readonly tokensOf: (text: string) => number;
}

const AT = { at: 0 };
const MIN_BUDGET_CHARS = 512;

interface Inherited {
  readonly text: string;
  readonly preamble: string;
  readonly count: number;
  /** Tokens sent as messages; 0 when everything is one text. */
  readonly messageTokens: number;
}

function asMessages(messages: Transcript, preamble: string): Omit<Inherited, "messageTokens"> {
  const last = renderMessage({ id: "preamble", role: "user", parts: [{ type: "text", text: preamble }] });
  const text = messages.map(renderMessage).join("");
  return { text: text === "" ? "" : `${text}\n${last}`, preamble, count: messages.length };
}

function asText(trimmed: ForkResult, pipeline: ForkOptions): Omit<Inherited, "messageTokens"> {
  const { text, stats } = formatMessagesAsContext(trimmed.messages, trimmed.stats, pipeline);
  const preamble = buildForkPreamble(stats);
  const whole = text === "" ? "" : `${preamble}\n\n${text}`;
  return { text: whole, preamble, count: stats.finalCount };
}

/** What a compaction would leave if it were made now, with the summary that needs no model. */
export function previewCompaction(
  { recorded, format, windowTokens, profile, pricesKnown, tokensOf, now, tokensOfRun }: CompactionSource,
  { keepTokens }: CompactionPreviewOptions,
): CompactionPreview {
  const compacted = compactFileWithoutModel({ transcript: recorded, format }, { windowTokens, keepTokens });
  if (compacted.status === "unchanged")
    return {
      status: "nothing",
      reason: WHY_NOT[compacted.reason] ?? `Nothing was compacted: ${compacted.reason}.`,
    };
  const { plan, summary, messages, edits } = compacted;
  const { request, keptIds, firstKeptId } = plan;
  const left = messages.filter(isVisibleToModel);
  const tokensBefore = now.tokens;
  const tokensAfter = Math.round(
    now.outsideTokens + tokensOfRun({ source: recorded, edits, left }) * now.scale,
  );
  const text = renderVisible(messages);
  const firstKeptIndex = recorded.findIndex(({ id }) => id === firstKeptId);
  return {
    status: "planned",
    summary,
    text,
    replacedMessages: plan.localSummaryMaterial.messages.length,
    keptMessages: keptIds.length,
    ...(firstKeptIndex !== -1 && { firstKeptIndex }),
    tokensBefore,
    tokensAfter,
    charsBefore: renderVisible(filterCompacted(recorded)).length,
    charsAfter: text.length,
    request: {
      system: request.system,
      prompt: request.prompt,
      tokens: tokensOf(request.system) + tokensOf(request.prompt),
    },
    cache: computeCacheCost({
      profile,
      pricesKnown,
      unchangedTokens: tokensBefore,
      changedTokens: tokensAfter,
      sharedTokens: Math.round(now.outsideTokens),
    }),
  };
}

/** A conversation at the moment of a compaction. */
interface CompactionSource extends ShownSizes {
  readonly recorded: Transcript;
  readonly format: FormatName;
  readonly windowTokens: number;
  readonly profile: CacheProfile;
  readonly pricesKnown: boolean;
  readonly tokensOf: (text: string) => number;
}

const WHY_NOT: Readonly<Record<string, string>> = {
  empty: "There is nothing to compact yet.",
  "nothing-old": "Everything is recent enough to stay word for word.",
  "too-little": "What is old is too little to be worth a summary.",
  "no-gain": "A summary would save less than a tenth, so nothing is done.",
  "lost-content": "Something that must stay would be lost, so nothing is done.",
};

function renderVisible(messages: Transcript): string {
  return messages.filter(isVisibleToModel).map(renderMessage).join("");
}

/** What a changed window costs compared with the unchanged one, at the provider's cache prices. */
export function computeCacheCost(input: CacheCostInput): CacheCost {
  const { profile, pricesKnown, unchangedTokens, changedTokens, sharedTokens } = input;
  const { readMultiplier, writeMultiplier } = profile;
  const steps = EXPECTED_FORK_STEPS;
  const readTokens = Math.min(sharedTokens, changedTokens);
  const writtenTokens = changedTokens - readTokens;
  const firstBaseTokens = readTokens * readMultiplier + writtenTokens * writeMultiplier;
  const appendOnlyBaseTokens = unchangedTokens * readMultiplier;
  const total = firstBaseTokens + (steps - 1) * changedTokens * readMultiplier;
  const evenSteps = breakEvenSteps({
    // The shared prefix is read from the cache either way.
    fullTokens: unchangedTokens - readTokens,
    trimmedTokens: writtenTokens,
    cacheReadPrice: readMultiplier,
    cacheWritePrice: writeMultiplier,
  });
  return {
    pricesKnown,
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
  readonly pricesKnown: boolean;
  /** Tokens of the next request when nothing is changed, all cached. */
  readonly unchangedTokens: number;
  readonly changedTokens: number;
  /** The prefix that both share. */
  readonly sharedTokens: number;
}
