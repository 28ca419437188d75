import { stepToCheck } from "../compaction/trigger/overflow.ts";
import { tokenFamilyOf } from "../models/token-family.ts";
import { omitUndefined } from "../text/json.ts";
import { familyCost, type TokenFamily } from "../text/tokens/estimate-tokens.ts";
import {
  type ContextEstimate,
  type ContextEstimateOptions,
  type ContextSums,
  createContextSums,
  estimateBySums,
  fixedTokens,
  observeUsage,
  promptTokens,
  reportsContextUsage,
} from "../transcript/estimate-context.ts";
import {
  calibrate,
  scaleOf,
  startCalibration,
  type TokenCalibration,
} from "../transcript/estimate-message.ts";
import type { Message, MessageId, ModelRef, Transcript } from "../transcript/message.ts";
import { type ContextWindow, createWindowReader } from "./window.ts";

/** Estimates how full the window is, and learns from the session's own usage. */
export interface ContextMeter {
  /** The estimate of the window as it is now. */
  estimate(): ContextEstimate;
  /** The same without any usage: for comparing a window with what it would become. */
  estimateUncounted(): ContextEstimate;
  /** The part of it that no compaction can take away: system prompt and tools. */
  overheadTokens(): number;
  /** Characters of the tool outputs in the window that were neither cleared nor archived. */
  outputChars(): number;
  /** Where the first message of the window stands that has such an output. */
  firstOutputIndex(): number;
  /** The options of both, with what was learned. */
  options(): ContextEstimateOptions;
  /** Starts a new epoch because the context changed: usage of earlier messages no longer counts. */
  startEpoch(): void;
  epoch(): number;
  /** The newest finished step, if its usage describes the context as it is now. */
  newestStep(): Message | undefined;
  /** Ignores the usage of this message from now on. */
  distrust(id: MessageId): void;
  /** Learns from the usage of messages that came in. */
  learn(ids: ReadonlySet<MessageId>): void;
  /** The model that is asked next. */
  setModel(model: ModelRef | undefined): void;
  /** Sets what is sent beside the messages; true when that changes anything. */
  setOverhead(overhead: PromptOverhead): boolean;
}

/** Characters of the system prompt and of the tool definitions, where they are no messages. */
export interface PromptOverhead {
  /** Characters of the system prompt. @default unchanged */
  readonly systemChars?: number;
  /** Characters of the tool definitions. @default unchanged */
  readonly toolsChars?: number;
}

/** A meter of the window that `readWindow` gives. */
export function createContextMeter(readWindow: () => ContextWindow, settings: MeterSettings): ContextMeter {
  let model = settings.model;
  let { systemChars, toolsChars } = validOverhead(settings);
  /** What was learned, by the id of the model: one that comes back finds its own. */
  const learned = new Map<string, TokenCalibration>();
  let applied: TokenCalibration | undefined;
  let epoch = 0;
  let epochStartIndex = 0;
  let sumUp: ((marked: Transcript) => readonly ContextSums[]) | undefined;
  let last: Measured | undefined;
  const distrusted = new Set<MessageId>();

  function learnedOf(asked: ModelRef | undefined): TokenCalibration | undefined {
    return asked && learned.get(asked.id);
  }

  function options(): ContextEstimateOptions {
    return {
      estimator: settings.estimator,
      family: familyOf(model),
      ...omitUndefined({ model, systemChars, toolsChars, calibration: applied }),
    };
  }

  function startIndex(): number {
    return Math.max(epochStartIndex, readWindow().compactedCount);
  }

  /** True when the usage of a message describes a context that no longer exists. */
  function isStale({ createdAt = Number.POSITIVE_INFINITY, id }: Message, summaryAt: number): boolean {
    return createdAt < summaryAt || distrusted.has(id);
  }

  /** The sums over the beginning of the window, by how many messages they are of. */
  function sums(): readonly ContextSums[] {
    sumUp ??= createContextSums(options());
    return sumUp(readWindow().marked);
  }

  /** Sums over the whole window. */
  function total(): ContextSums {
    return sums()[readWindow().marked.length] as ContextSums;
  }

  function measured(): ContextEstimate {
    const { marked, version } = readWindow();
    if (last?.marked === marked) return last.estimate;
    if (last?.version !== version) {
      // A new scale counts from here on only: until the next restart estimates can be compared.
      const newest = learnedOf(model);
      if (applied !== newest) sumUp = undefined;
      applied = newest;
    }
    const estimate = estimateBySums(marked, sums(), {
      ...options(),
      epochStartIndex: startIndex(),
      isTrusted: (message, { summaryAt }) => !isStale(message, summaryAt),
    });
    last = { marked, version, estimate };
    return estimate;
  }

  /**
   * Which messages have usage that can be of all that was sent. Some gateways leave out what was cached: then it is less
   * than half of what was counted before, or of what the family's scale makes of the messages.
   */
  function wholeUsage(): (index: number) => boolean {
    const unlearned = familyCost(familyOf(model)).scale / scaleOf(options());
    const whole: boolean[] = [];
    let largestTokens = 0;
    for (const [index, { usage }] of readWindow().marked.entries()) {
      const counted = promptTokens(usage);
      const { tokens, leftOutTokens } = sums()[index] as ContextSums;
      const least = MIN_WHOLE_SHARE * Math.max(largestTokens, (tokens - leftOutTokens) * unlearned);
      whole.push(counted >= least);
      if (index >= startIndex()) largestTokens = Math.max(largestTokens, counted);
    }
    return (index) => whole[index] === true;
  }

  /** For each of these messages the span from the usage before it to its own, oldest first. */
  function usageSpans(ids: ReadonlySet<MessageId>): readonly (readonly [start: number, end: number])[] {
    const marked = readWindow().marked;
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
    estimate: measured,

    overheadTokens() {
      measured();
      return total().systemTokens + fixedTokens(options());
    },

    estimateUncounted: () =>
      estimateBySums(readWindow().marked, sums(), {
        ...options(),
        epochStartIndex: Number.POSITIVE_INFINITY,
      }),

    outputChars: () => total().outputChars,

    firstOutputIndex() {
      const { length } = readWindow().marked;
      const count = sums().findIndex(({ outputChars }) => outputChars > 0);
      return count === -1 ? length : count - 1;
    },

    startEpoch() {
      epoch++;
      epochStartIndex = readWindow().marked.length;
      last = undefined;
    },

    distrust(id) {
      distrusted.add(id);
      last = undefined;
    },

    learn(ids) {
      const spans = usageSpans(ids);
      if (spans.length === 0) return;
      const isWhole = wholeUsage();
      for (const [start, end] of spans) {
        if (!isWhole(start) || !isWhole(end)) continue;
        const span = readWindow().marked.slice(start, end + 1);
        // Another model than the one that is asked began another epoch.
        const seen = observeUsage(span, {
          epoch,
          epochStartIndex: startIndex() - start,
          ...(model && { asked: model }),
        });
        if (seen === undefined) continue;
        const before =
          learned.get(seen.model) ?? startCalibration(seen.model, tokenFamilyOf({ id: seen.model }));
        const after = calibrate(before, seen);
        if (after !== before) learned.set(seen.model, after);
      }
    },

    setModel(next) {
      if (next?.id !== model?.id) applied = learnedOf(next);
      model = next;
      last = undefined;
      sumUp = undefined;
    },

    setOverhead(given) {
      const overhead = validOverhead(given);
      if (overhead.systemChars === systemChars && overhead.toolsChars === toolsChars) return false;
      ({ systemChars, toolsChars } = overhead);
      last = undefined;
      return true;
    },

    options,
    epoch: () => epoch,

    newestStep() {
      const { marked } = readWindow();
      const step = stepToCheck(marked);
      if (step === undefined || isStale(step, total().summaryAt)) return undefined;
      return marked.lastIndexOf(step) >= startIndex() ? step : undefined;
    },
  };
}

/** No estimate is as far off as this. */
const MIN_WHOLE_SHARE = 0.5;

/** The newest estimate, and the window that it is of. */
interface Measured extends Pick<ContextWindow, "marked" | "version"> {
  readonly estimate: ContextEstimate;
}

interface MeterSettings extends PromptOverhead {
  readonly estimator: NonNullable<ContextEstimateOptions["estimator"]>;
  readonly model?: ModelRef;
}

/** The overhead without values that are not a number of characters. */
function validOverhead({ systemChars, toolsChars }: PromptOverhead): PromptOverhead {
  const known = (chars = -1) => (Number.isFinite(chars) && chars >= 0 ? chars : undefined);
  return omitUndefined({ systemChars: known(systemChars), toolsChars: known(toolsChars) });
}

function familyOf(model: ModelRef | undefined): TokenFamily {
  return tokenFamilyOf(model);
}

/**
 * How large the window of a recorded session is, which is what a session says of it in `status()`: the provider's count
 * at the last request that still holds, and an estimate of what came later. After a compaction, and until the next
 * request, it is all estimated.
 */
export function measureWindow(transcript: Transcript): WindowSize {
  return createWindowMeasure()(transcript);
}

/** The same for one transcript after another; what they begin with alike is read once. */
export function createWindowMeasure(): (transcript: Transcript) => WindowSize {
  const readWindow = createWindowReader();
  return (transcript) => {
    const model = transcript.findLast((message) => message.model !== undefined && !message.summary)?.model;
    const meter = createContextMeter(() => readWindow(transcript), {
      estimator: "calibrated",
      ...(model && { model }),
    });
    meter.learn(new Set(transcript.map(({ id }) => id)));
    const estimate = meter.estimate();
    const messageTokens = meter.estimateUncounted().tokens;
    return { ...estimate, messageTokens, ...outsideOf(estimate, messageTokens) };
  };
}

/** The size of a window, and how much of it is messages. */
export interface WindowSize extends ContextEstimate {
  /** What its messages alone are estimated to take. */
  readonly messageTokens: number;
  /**
   * What the provider counted beyond the messages: system prompt, tool definitions, thinking that is not recorded.
   * Unset where nothing that it counted still holds.
   */
  readonly outsideTokens?: number;
}

function outsideOf({ tokens, source }: ContextEstimate, messageTokens: number): { outsideTokens?: number } {
  return source === "usage" ? { outsideTokens: Math.max(0, tokens - messageTokens) } : {};
}
