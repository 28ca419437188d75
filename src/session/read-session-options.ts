import { validateCompactionSettings } from "../compaction/compaction-settings-validate.ts";
import { ConfigurationError } from "../text/configuration-error.ts";
import {
  DEFAULT_TOOL_OUTPUT_LIMITS,
  resolveToolOutputLimits,
  type ToolOutputLimits,
} from "../tool-output/tool-output-limits.ts";
import { RECALL_MAX_CHARS } from "./recall.ts";
import type { KnownSessionOptions, SessionOptions } from "./session-options.ts";
import { sessionOptionsProblems } from "./session-options-problems.ts";
import { readSessionPrune } from "./session-prune.ts";

/** Completed options; what cannot be used is thrown, every problem at once. */
export function readSessionOptions(options: SessionOptions): KnownSessionOptions {
  const problems: string[] = [...sessionOptionsProblems(options)];
  const validated = validateCompactionSettings(options.compaction);
  if (validated.status === "invalid")
    problems.push(...validated.problems.map(({ path, problem }) => `compaction.${path}: ${problem}`));
  const outputLimits = attempt(problems, () => readOutputLimits(options.toolOutput));
  const pruning = attempt(problems, () =>
    options.prune === "off" ? undefined : readSessionPrune(options.prune),
  );
  if (problems.length > 0 || validated.status === "invalid") throw new ConfigurationError(problems);
  return {
    ...options,
    settings: validated.settings,
    limits: options.limits ?? { contextTokens: 0, outputTokens: 0 },
    representation: options.representation ?? "pivot",
    expectedTurns: options.expectedTurns ?? EXPECTED_TURNS,
    outputLimits,
    pruning,
    estimator: options.estimator ?? "calibrated",
    redaction: options.redaction ?? {},
    recallMaxChars: options.recallMaxChars ?? RECALL_MAX_CHARS,
  };
}

const EXPECTED_TURNS = 12;

function readOutputLimits(limits: SessionOptions["toolOutput"]): ToolOutputLimits | undefined {
  if (limits === "off") return undefined;
  return limits === undefined ? DEFAULT_TOOL_OUTPUT_LIMITS : resolveToolOutputLimits(limits);
}

function attempt<T>(problems: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}
