import { stepToCheck } from "../compaction/trigger/overflow.ts";
import { omitUndefined } from "../text/json.ts";
import { type TokenFamily, tokenFamilyOf } from "../text/tokens/estimate-tokens.ts";
import { hasOnlyStub, outcomeText } from "../transcript/content.ts";
import {
  addToStart,
  type ContextEstimate,
  type ContextEstimateOptions,
  type ContextTally,
  createContextTally,
  EMPTY_TALLY,
  observeUsage,
  reportsContextUsage,
  type TallyStart,
  withFamily,
} from "../transcript/estimate-context.ts";
import { calibrate, startCalibration } from "../transcript/estimate-message.ts";
import type { Message, MessageId, ModelRef, Transcript } from "../transcript/message.ts";
import { type ContextWindow, createFold, createWindowReader, sameLength } from "./window.ts";

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
  let calibration = startCalibration(model?.id ?? "", familyOf(model));
  let applied = calibration;
  let epoch = 0;
  let epochStartIndex = 0;
  let measure: ((marked: Transcript) => Measured) | undefined;
  let sums: RunningSums | undefined;
  let version = 0;
  const distrusted = new Set<MessageId>();

  function options(): ContextEstimateOptions {
    return {
      estimator: settings.estimator,
      family: familyOf(model),
      ...(applied.observations > 0 && { calibration: applied }),
      ...omitUndefined({ model, systemChars, toolsChars }),
    };
  }

  function startIndex(): number {
    return Math.max(epochStartIndex, readWindow().compactedCount);
  }

  /** True when the usage of a message describes a context that no longer exists. */
  function isStale({ createdAt = Number.POSITIVE_INFINITY, id }: Message, summaryAt: number): boolean {
    return createdAt < summaryAt || distrusted.has(id);
  }

  function addMeasured(state: Measured, message: Message): void {
    if (message.summary === true && message.createdAt !== undefined)
      state.summaryAt = Math.max(state.summaryAt, message.createdAt);
    const isCounted = message.usage === undefined || !isStale(message, state.summaryAt);
    state.tally.add(isCounted ? message : withoutUsage(message));
    if (message.role === "system") state.overhead.add(message);
  }

  function measured(): Measured {
    const window = readWindow();
    const { marked, version: current } = window;
    if (measure === undefined || version !== current) {
      // A new scale counts from here on only: until the next restart estimates can be compared.
      if (applied !== calibration) sums = undefined;
      applied = calibration;
      version = current;
      // Usage from before the epoch does not count, so that only sizes matter there.
      const first = Math.min(startIndex(), marked.length);
      const before = sumsOf(window, first);
      const tallied = { ...options(), epochStartIndex: startIndex() };
      const start = (): Measured => ({
        tally: createContextTally(tallied, before),
        overhead: createContextTally(
          { ...tallied, epochStartIndex: Number.POSITIVE_INFINITY },
          { ...before, tokens: before.overheadTokens },
        ),
        summaryAt: before.summaryAt,
      });
      const fold = createFold(start, addMeasured);
      let read: Transcript | undefined;
      let state = start();
      // Asked several times a turn about the same window.
      measure = (messages) => {
        if (messages !== read) state = fold(messages.slice(first));
        read = messages;
        return state;
      };
    }
    return measure(marked);
  }

  /** The sums over the first messages of the window. */
  function sumsOf(window: ContextWindow, count: number): Sums {
    sums ??= createRunningSums(withFamily(options()));
    return sums(window, count);
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
    estimate: () => measured().tally.estimate(),

    overheadTokens: () => measured().overhead.estimate().tokens,

    estimateUncounted() {
      const window = readWindow();
      return createContextTally(options(), sumsOf(window, window.marked.length)).estimate();
    },

    outputChars() {
      const window = readWindow();
      return sumsOf(window, window.marked.length).outputChars;
    },

    firstOutputIndex() {
      const window = readWindow();
      let low = 0;
      let high = window.marked.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sumsOf(window, middle + 1).outputChars > 0) high = middle;
        else low = middle + 1;
      }
      return low;
    },

    startEpoch() {
      epoch++;
      epochStartIndex = readWindow().marked.length;
      measure = undefined;
    },

    distrust(id) {
      distrusted.add(id);
      measure = undefined;
    },

    learn(ids) {
      const family = familyOf(model);
      for (const [start, end] of usageSpans(ids)) {
        const span = readWindow().marked.slice(start, end + 1);
        const seen = observeUsage(span, { epoch, epochStartIndex: startIndex() - start, family });
        if (seen === undefined) continue;
        if (seen.model !== calibration.model) calibration = startCalibration(seen.model, family);
        calibration = calibrate(calibration, seen);
      }
    },

    setModel(next) {
      model = next;
      measure = undefined;
      sums = undefined;
    },

    setOverhead(given) {
      const overhead = validOverhead(given);
      if (overhead.systemChars === systemChars && overhead.toolsChars === toolsChars) return false;
      ({ systemChars, toolsChars } = overhead);
      measure = undefined;
      return true;
    },

    options,
    epoch: () => epoch,

    newestStep() {
      const { marked } = readWindow();
      const step = stepToCheck(marked);
      if (step === undefined || isStale(step, measured().summaryAt)) return undefined;
      return marked.lastIndexOf(step) >= startIndex() ? step : undefined;
    },
  };
}

type RunningSums = (window: ContextWindow, count: number) => Sums;

interface Sums extends TallyStart {
  /** When the newest summary was written. */
  readonly summaryAt: number;
  /** Characters of tool outputs that were neither cleared nor archived. */
  readonly outputChars: number;
  /** Of system messages. */
  readonly overheadTokens: number;
}

/** Sums over the beginning of one window after another; what stands before the first difference is not read again. */
function createRunningSums(options: ContextEstimateOptions): RunningSums {
  let read: Transcript = [];
  const none = { summaryAt: Number.NEGATIVE_INFINITY, outputChars: 0, overheadTokens: 0 };
  const sums: Sums[] = [{ ...EMPTY_TALLY, ...none }];
  return (window, count) => {
    const { marked } = window;
    if (marked !== read) sums.length = sameLength(read, window) + 1;
    for (const message of marked.slice(sums.length - 1)) {
      const before = sums.at(-1) as Sums;
      const at = message.summary === true ? message.createdAt : undefined;
      const summaryAt = Math.max(before.summaryAt, at ?? Number.NEGATIVE_INFINITY);
      const outputChars = before.outputChars + outputCharsOf(message);
      const start = addToStart(before, message, options);
      const ownTokens = message.role === "system" ? start.tokens - before.tokens : 0;
      const overheadTokens = before.overheadTokens + ownTokens;
      sums.push({ ...start, summaryAt, outputChars, overheadTokens });
    }
    read = marked;
    return sums[count] as Sums;
  };
}

function outputCharsOf({ parts }: Message): number {
  let chars = 0;
  for (const part of parts)
    if (part.type === "tool" && part.clearedAt === undefined && !hasOnlyStub(part))
      chars += outcomeText(part.outcome).length;
  return chars;
}

interface Measured {
  readonly tally: ContextTally;
  readonly overhead: ContextTally;
  /** When the newest summary was written. */
  summaryAt: number;
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

const uncounted = new WeakMap<Message, Message>();

/** The same object every time, so that its size is measured once. */
function withoutUsage(message: Message): Message {
  const known = uncounted.get(message);
  if (known !== undefined) return known;
  const { usage: _, ...rest } = message;
  uncounted.set(message, rest);
  return rest;
}

function familyOf(model: ModelRef | undefined): TokenFamily {
  return model === undefined ? "gpt" : tokenFamilyOf(model.id);
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
