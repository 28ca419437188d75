import { gone, limitFrom, NO_OPTIONS, optionsCheck, type Shape } from "../text/check.ts";
import { ESTIMATOR_SHAPE, type TokenEstimator } from "../text/tokens/estimate-tokens.ts";
import { type ContextEstimate, estimateContextTokens as estimateContextOf } from "./estimate-context.ts";
import { estimateMessageTokens as estimateMessageOf } from "./estimate-message.ts";
import { type Message, MODEL_RULE, type ModelRef, type Transcript } from "./message.ts";

/** How full a context is: what the newest usage counted, and an estimate of what came after it. */
export function estimateContextTokens(
  transcript: Transcript,
  options: ContextEstimateOptions = NO_OPTIONS,
): ContextEstimate {
  checkContext(options);
  return estimateContextOf(transcript, options);
}

/** The tokens of a message as the model sees it. */
export function estimateMessageTokens(
  message: Message,
  options: MessageEstimateOptions = NO_OPTIONS,
): number {
  checkMessage(options);
  return estimateMessageOf(message, options);
}

/** How the tokens of a message are counted. */
export interface MessageEstimateOptions {
  /** How tokens are counted; characters / 4 when unset. @default documented */
  readonly estimator?: TokenEstimator;
  /**
   * The model that is asked next: usage of another one does not count, and its name tells the family.
   * @default unset
   */
  readonly model?: ModelRef;
}

/** How a context is counted. */
export interface ContextEstimateOptions extends MessageEstimateOptions {
  /**
   * How many messages there were when the context last changed (compaction, pruning, archiving): the usage of those
   * describes a context that no longer exists.
   * @default 0
   * @unit messages
   * @from this project
   */
  readonly epochStartIndex?: number;
}

const MESSAGE_SHAPE: Shape<MessageEstimateOptions> = {
  ...gone({
    family: "give model, whose name tells the family",
    calibration: "leave it out: a session learns it by itself",
  }),
  estimator: ESTIMATOR_SHAPE.estimator,
  model: MODEL_RULE,
};

const ADD = "add what estimateTokens gives for it";
const checkMessage = optionsCheck(MESSAGE_SHAPE);
const checkContext = optionsCheck({
  ...gone({
    systemChars: ADD,
    toolsChars: ADD,
    interval: "leave it out: the interval is that of the estimator",
  }),
  ...MESSAGE_SHAPE,
  epochStartIndex: limitFrom(0),
});
