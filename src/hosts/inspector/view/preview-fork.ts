import { buildForkPreamble } from "../../../fork/build-fork-preamble.ts";
import { chooseForkWay, EXPECTED_FORK_STEPS } from "../../../fork/choose-fork-way.ts";
import type { ForkOptions } from "../../../fork/fork-options.ts";
import { formatMessagesAsContext } from "../../../fork/format-messages-as-context.ts";
import { type ForkResult, processMessagesForFork } from "../../../fork/process-messages-for-fork.ts";
import { sentBesideTokens } from "../../../fork/sent-beside-tokens.ts";
import { uncutStats } from "../../../fork/uncut-stats.ts";
import type { CacheProfile } from "../../../stages/provider-cache-profiles.ts";
import { repairPairing } from "../../../stages/repair-pairing.ts";
import type { TokenFamily } from "../../../text/token-model-families.ts";
import { applyEdits } from "../../../transcript/apply-edits.ts";
import { estimateMessageTokens } from "../../../transcript/estimate-message-tokens.ts";
import type { Transcript } from "../../../transcript/message.ts";
import { renderMessage } from "../../../transcript/render.ts";
import { isVisibleToModel } from "../../../transcript/visibility.ts";
import { cacheSum } from "./cache-sum.ts";
import type { ForkPreview, ForkPreviewOptions } from "./types.ts";

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
  const besideTokens = sentBesideTokens(sent, tokensOf);
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
    cache: cacheSum({
      profile,
      unchangedTokens: besideTokens + fullTokens,
      changedTokens: besideTokens + tokens,
      sharedTokens: besideTokens + (options.way === "exact" ? fullTokens : 0),
      steps: EXPECTED_FORK_STEPS,
    }),
  };
}

/** A conversation at the moment of a fork. */
export interface ForkSource {
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

export type Graduate = (recorded: Transcript, options: ForkOptions) => ForkResult;

/** The pipeline with a memory of one: the ways of a fork are looked at one after the other. */
export function rememberGraduated(): Graduate {
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
