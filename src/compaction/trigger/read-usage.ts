import { asNumber, asObject, isObject } from "../../text/unknown-value.ts";
import type { Usage } from "../../transcript/message.ts";

/**
 * Token usage in whatever shape a provider or SDK reports it, as `Usage` whose fields do not overlap.
 * Undefined when no field can be read. Number-like texts count as numbers, negative values as 0.
 */
export function readUsage(
  raw: unknown,
  { inputIncludesCached = "no" }: ReadUsageOptions = {},
): Usage | undefined {
  if (!isObject(raw)) return undefined;
  const read = (field: keyof Usage): number | undefined => {
    for (const path of FIELDS[field]) {
      const tokens = tokensAt(raw, path);
      if (tokens !== undefined) return tokens;
    }
    return undefined;
  };
  const totalTokens = read("totalTokens");
  const input = read("inputTokens");
  const output = read("outputTokens");
  const cacheRead = read("cacheReadTokens");
  const cacheWrite = read("cacheWriteTokens");
  if ((totalTokens ?? input ?? output ?? cacheRead ?? cacheWrite) === undefined) return undefined;
  const cachedTokens = inputIncludesCached === "yes" ? (cacheRead ?? 0) + (cacheWrite ?? 0) : 0;
  return {
    inputTokens: Math.max(0, (input ?? 0) - cachedTokens),
    outputTokens: output ?? 0,
    reasoningTokens: read("reasoningTokens") ?? 0,
    cacheReadTokens: cacheRead ?? 0,
    cacheWriteTokens: cacheWrite ?? 0,
    ...(totalTokens !== undefined && { totalTokens }),
  };
}

interface ReadUsageOptions {
  /** `yes` for providers whose input count already holds the cached tokens (OpenAI, Gemini), so that they count once. */
  readonly inputIncludesCached?: "yes" | "no";
}

/** Where providers and SDKs put a count; the first that can be read is taken, a dot leads into an object. */
const FIELDS: Readonly<Record<keyof Usage, readonly string[]>> = {
  inputTokens: (
    "inputTokens input input_tokens prompt_tokens promptTokens promptTokenCount prompt_eval_count " +
    "inputTokens.total input_tokens.total tokens.input_tokens"
  ).split(" "),
  outputTokens: (
    "outputTokens output output_tokens completion_tokens completionTokens candidatesTokenCount " +
    "eval_count outputTokens.total output_tokens.total tokens.output_tokens"
  ).split(" "),
  totalTokens: "totalTokens total total_tokens totalTokenCount".split(" "),
  reasoningTokens: (
    "reasoningTokens reasoning reasoning_tokens thoughtsTokenCount " +
    "completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens " +
    "outputTokenDetails.reasoningTokens outputTokens.reasoning"
  ).split(" "),
  cacheReadTokens: (
    "cacheReadTokens cacheRead cache_read_input_tokens cacheReadInputTokens cachedInputTokens " +
    "cached_tokens cachedContentTokenCount prompt_cache_hit_tokens cache.read " +
    "prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens " +
    "promptTokensDetails.cachedTokens inputTokenDetails.cacheReadTokens inputTokens.cacheRead"
  ).split(" "),
  cacheWriteTokens: (
    "cacheWriteTokens cacheWrite cache_creation_input_tokens cacheWriteInputTokens " +
    "cacheCreationInputTokens cache.write prompt_tokens_details.cache_write_tokens " +
    "inputTokenDetails.cacheWriteTokens inputTokens.cacheWrite"
  ).split(" "),
};

function tokensAt(raw: unknown, path: string): number | undefined {
  let value = raw;
  try {
    for (const name of path.split(".")) value = asObject(value)[name];
  } catch {
    return undefined;
  }
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  const tokens = asNumber(count);
  return tokens === undefined ? undefined : Math.max(0, tokens);
}
