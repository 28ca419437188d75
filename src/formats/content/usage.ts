import { asNumber, asObject, omitUndefined } from "../../text/unknown-value.ts";
import type { Usage } from "../../transcript/message.ts";

/** Token counts under the names of a format; undefined for what is no object. */
export function readUsage(value: unknown, names: UsageNames): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const usage = asObject(value);
  const count = (name: string | undefined) => (name === undefined ? undefined : asNumber(usage[name]));
  const inputTokens = count(names.input) ?? 0;
  const cacheReadTokens = count(names.cacheRead) ?? 0;
  return omitUndefined({
    inputTokens: names.inputIncludesCache ? Math.max(0, inputTokens - cacheReadTokens) : inputTokens,
    outputTokens: count(names.output) ?? 0,
    reasoningTokens: count(names.reasoning) ?? 0,
    cacheReadTokens,
    cacheWriteTokens: count(names.cacheWrite) ?? 0,
    totalTokens: count(names.total),
  });
}

/** The names under which a format keeps token counts. */
export interface UsageNames {
  readonly input: string;
  readonly output: string;
  readonly cacheRead: string;
  readonly cacheWrite?: string;
  readonly reasoning?: string;
  readonly total?: string;
  /** Set when the input count includes the tokens read from the cache. */
  readonly inputIncludesCache?: true;
}
