import type { Pin } from "../compaction/summary/facts.ts";
import { createResultTest, isAssistantAnswer } from "../compaction/tool-summaries/plan-tool-summaries.ts";
import { stepToCheck } from "../compaction/trigger/overflow.ts";
import { FORK_NO_TRUNCATION_TOOLS } from "../stages/tiers.ts";
import { type TokenFamily, tokenFamilyOf } from "../text/tokens/estimate-tokens.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  type ContextTally,
  createContextTally,
  estimateContextTokens,
  observeUsage,
  reportsContextUsage,
} from "../transcript/estimate-context.ts";
import { calibrate, startCalibration } from "../transcript/estimate-message.ts";
import { type Message, type MessageId, type ModelRef, reachesModel } from "../transcript/message.ts";
import type { ContextWindow } from "./window.ts";

/** How full a window is, kept up to date; it learns from the session's own usage. */
export interface ContextMeter {
  /** The estimate of the window as it is now. */
  estimate(): ContextEstimate;
  /** The same without any usage: for comparing a window with what it would become. */
  estimateUncounted(): ContextEstimate;
  /** The options of both, with what was learned. */
  options(): ContextEstimateOptions;
  /** Says that the context changed: what was counted before no longer holds. */
  startEpoch(): void;
  epoch(): number;
  /** The newest finished step, if its usage describes the context as it is now. */
  newestStep(): Message | undefined;
  /** Says that the usage of this message is an accounting fault. */
  distrust(id: MessageId): void;
  /** Learns from the usage of messages that came in. */
  learn(ids: ReadonlySet<MessageId>): void;
  /** The model that is asked next. */
  setModel(model: ModelRef | undefined): void;
  /** What is sent beside the messages from now on; true when that is something else than before. */
  setBeside(beside: PromptOverhead): boolean;
}

/** Characters of the system prompt and of the tool definitions, where they are no messages. */
export interface PromptOverhead {
  readonly systemChars?: number;
  readonly toolsChars?: number;
}

/** A meter of a window. */
export function createContextMeter(window: ContextWindow, settings: MeterSettings): ContextMeter {
  let model = settings.model;
  let { systemChars, toolsChars } = validOverhead(settings);
  let calibration = startCalibration(model?.id ?? "", familyOf(model));
  let applied = calibration;
  let epoch = 0;
  let epochStartIndex = 0;
  let tally: ContextTally | undefined;
  let version = -1;
  let count = 0;
  let summaryAt = Number.NEGATIVE_INFINITY;
  const distrusted = new Set<MessageId>();

  function options(): ContextEstimateOptions {
    const { estimator } = settings;
    const learned = applied.observations > 0 ? { calibration: applied } : {};
    return {
      estimator,
      family: familyOf(model),
      ...learned,
      ...(model && { model }),
      ...(systemChars !== undefined && { systemChars }),
      ...(toolsChars !== undefined && { toolsChars }),
    };
  }

  function startIndex(): number {
    return Math.max(epochStartIndex, window.compactedCount());
  }

  /** True when the usage of a message describes a context that no longer exists. */
  function isStale(message: Message): boolean {
    return (message.createdAt ?? Number.POSITIVE_INFINITY) < summaryAt || distrusted.has(message.id);
  }

  function restart(): ContextTally {
    // A new scale counts from here on: between two restarts estimates can be compared.
    applied = calibration;
    version = window.version();
    count = 0;
    summaryAt = Number.NEGATIVE_INFINITY;
    tally = createContextTally({ ...options(), epochStartIndex: startIndex() });
    return tally;
  }

  /** The message with its usage only if that still tells how large this window is. */
  function counted(message: Message): Message {
    return message.usage !== undefined && isStale(message) ? uncounted(message) : message;
  }

  function upToDate(): ContextTally {
    const current = tally !== undefined && version === window.version() ? tally : restart();
    const marked = window.marked();
    for (; count < window.settledCount(); count++) {
      const message = marked[count];
      if (message === undefined) continue;
      if (message.summary === true && message.createdAt !== undefined)
        summaryAt = Math.max(summaryAt, message.createdAt);
      current.add(counted(message));
    }
    return current;
  }

  /** What waits for results is weighed beside the rest, so that it can be replaced at no cost. */
  function withOpen(settled: ContextEstimate, open: Message): ContextEstimate {
    const { systemChars: _, toolsChars: __, ...rest } = options();
    const { tokens, low, high } = estimateContextTokens([open], rest);
    return {
      ...settled,
      tokens: settled.tokens + tokens,
      low: settled.low + low,
      high: settled.high + high,
      trailingTokens: settled.trailingTokens + tokens,
    };
  }

  /** From the usage before each of these messages to its own, oldest first; looks no further back than it has to. */
  function usageSpans(ids: ReadonlySet<MessageId>): readonly (readonly [start: number, end: number])[] {
    const marked = window.marked();
    const spans: [number, number][] = [];
    let leftIds = ids.size;
    let end = -1;
    for (let index = marked.length - 1; index >= 0 && (leftIds > 0 || end !== -1); index--) {
      const message = marked[index];
      if (message === undefined) continue;
      const isNew = ids.has(message.id);
      if (isNew) leftIds--;
      if (!reportsContextUsage(message)) continue;
      if (end !== -1) spans.push([index, end]);
      end = isNew && !distrusted.has(message.id) ? index : -1;
    }
    return spans.reverse();
  }

  return {
    estimate() {
      const settled = upToDate().estimate();
      const open = window.marked()[window.settledCount()];
      return open === undefined ? settled : withOpen(settled, open);
    },

    estimateUncounted() {
      const plain = createContextTally({ ...options(), epochStartIndex: Number.POSITIVE_INFINITY });
      for (const message of window.marked()) plain.add(message);
      return plain.estimate();
    },

    startEpoch() {
      epoch++;
      epochStartIndex = window.marked().length;
      tally = undefined;
    },

    distrust(id) {
      distrusted.add(id);
      tally = undefined;
    },

    learn(ids) {
      const family = familyOf(model);
      for (const [start, end] of usageSpans(ids)) {
        const span = window.marked().slice(start, end + 1);
        const seen = observeUsage(span, { epoch, epochStartIndex: startIndex() - start, family });
        if (seen === undefined) continue;
        if (seen.model !== calibration.model) calibration = startCalibration(seen.model, family);
        calibration = calibrate(calibration, seen);
      }
    },

    setModel(next) {
      model = next;
      tally = undefined;
    },

    setBeside(given) {
      const beside = validOverhead(given);
      if (beside.systemChars === systemChars && beside.toolsChars === toolsChars) return false;
      ({ systemChars, toolsChars } = beside);
      tally = undefined;
      return true;
    },

    options,
    epoch: () => epoch,

    newestStep() {
      upToDate();
      const marked = window.marked();
      const step = stepToCheck(marked);
      if (step === undefined || isStale(step)) return undefined;
      return marked.lastIndexOf(step) >= startIndex() ? step : undefined;
    },
  };
}

interface MeterSettings extends PromptOverhead {
  readonly estimator: NonNullable<ContextEstimateOptions["estimator"]>;
  readonly model?: ModelRef;
}

/** What is no number of characters is nothing that anybody knows. */
function validOverhead({ systemChars, toolsChars }: PromptOverhead): PromptOverhead {
  const isKnown = (chars: number | undefined): chars is number =>
    Number.isFinite(chars) && Number(chars) >= 0;
  return {
    ...(isKnown(systemChars) && { systemChars }),
    ...(isKnown(toolsChars) && { toolsChars }),
  };
}

const withoutUsage = new WeakMap<Message, Message>();

/** The same object every time, so that its size is measured once. */
function uncounted(message: Message): Message {
  const known = withoutUsage.get(message);
  if (known !== undefined) return known;
  const { usage: _, ...rest } = message;
  withoutUsage.set(message, rest);
  return rest;
}

function familyOf(model: ModelRef | undefined): TokenFamily {
  return model === undefined ? "gpt" : tokenFamilyOf(model.id);
}

/** Counts the tool results of a window that weigh on it, without walking the window again for each message. */
export interface ResultCounter {
  /** Results of which the model sees more than a line. */
  visibleResults(): number;
  /** Those of them that the model has answered. */
  answeredResults(): number;
}

/** A counter of a window. */
export function createResultCounter(window: ContextWindow, pins: readonly Pin[]): ResultCounter {
  const mayBeArchived = createResultTest({ protectedTools: FORK_NO_TRUNCATION_TOOLS, pins });
  let version = -1;
  let count = 0;
  let visible = 0;
  let answered = 0;

  function isCounted(message: Message, partIndex: number): boolean {
    const part = message.parts[partIndex];
    if (part?.type !== "tool" || !reachesModel(part) || part.callMissing) return false;
    return part.outcome.status !== "pending" && mayBeArchived(message, partIndex, part);
  }

  function upToDate(): void {
    if (version !== window.version()) {
      version = window.version();
      count = 0;
      visible = 0;
      answered = 0;
    }
    const marked = window.marked();
    for (; count < window.settledCount(); count++) {
      const message = marked[count];
      if (message === undefined) continue;
      if (isAssistantAnswer(message)) answered = visible;
      visible += countedIn(message);
    }
  }

  function countedIn(message: Message): number {
    let counted = 0;
    for (const partIndex of message.parts.keys()) if (isCounted(message, partIndex)) counted++;
    return counted;
  }

  /** The newest message while it may still be replaced. */
  function open(): Message | undefined {
    return window.marked()[window.settledCount()];
  }

  return {
    visibleResults() {
      upToDate();
      const message = open();
      return message === undefined ? visible : visible + countedIn(message);
    },
    answeredResults() {
      upToDate();
      const message = open();
      return message !== undefined && isAssistantAnswer(message) ? visible : answered;
    },
  };
}
