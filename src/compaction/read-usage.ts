import type { Usage } from "../transcript/message.ts";

/**
 * Token usage in whatever shape a provider or SDK reports it, as `Usage` whose fields do not overlap.
 * Undefined when no field can be read. Number-like texts count as numbers, negative values as 0.
 */
export function readUsage(
  raw: unknown,
  { inputIncludesCached = "no" }: ReadUsageOptions = {},
): Usage | undefined {
  const fields = fieldsOf(raw);
  const read = (paths: readonly string[]): number | undefined => {
    for (const path of paths) {
      const tokens = tokensAt(fields, path);
      if (tokens !== undefined) return tokens;
    }
    return undefined;
  };

  const inputTokens = read(INPUT);
  const outputTokens = read(OUTPUT);
  const totalTokens = read(TOTAL);
  const cacheReadTokens = read(CACHE_READ);
  const cacheWriteTokens = read(CACHE_WRITE);
  const known = [inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens];
  if (known.every((tokens) => tokens === undefined)) return undefined;

  const cachedTokens = inputIncludesCached === "yes" ? (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0) : 0;
  return {
    inputTokens: Math.max(0, (inputTokens ?? 0) - cachedTokens),
    outputTokens: outputTokens ?? 0,
    reasoningTokens: read(REASONING) ?? 0,
    cacheReadTokens: cacheReadTokens ?? 0,
    cacheWriteTokens: cacheWriteTokens ?? 0,
    ...(totalTokens === undefined ? {} : { totalTokens }),
  };
}

export interface ReadUsageOptions {
  /** `yes` for providers whose input count already holds the cached tokens (OpenAI, Gemini), so that they count once. */
  readonly inputIncludesCached?: "yes" | "no";
}

const INPUT = [
  "inputTokens",
  "input",
  "input_tokens",
  "prompt_tokens",
  "promptTokens",
  "promptTokenCount",
  "prompt_eval_count",
  "inputTokens.total",
  "input_tokens.total",
  "tokens.input_tokens",
];
const OUTPUT = [
  "outputTokens",
  "output",
  "output_tokens",
  "completion_tokens",
  "completionTokens",
  "candidatesTokenCount",
  "eval_count",
  "outputTokens.total",
  "output_tokens.total",
  "tokens.output_tokens",
];
const TOTAL = ["totalTokens", "total", "total_tokens", "totalTokenCount"];
const REASONING = [
  "reasoningTokens",
  "reasoning",
  "reasoning_tokens",
  "thoughtsTokenCount",
  "completion_tokens_details.reasoning_tokens",
  "output_tokens_details.reasoning_tokens",
  "outputTokenDetails.reasoningTokens",
  "outputTokens.reasoning",
];
const CACHE_READ = [
  "cacheReadTokens",
  "cacheRead",
  "cache_read_input_tokens",
  "cacheReadInputTokens",
  "cachedInputTokens",
  "cached_tokens",
  "cachedContentTokenCount",
  "prompt_cache_hit_tokens",
  "cache.read",
  "prompt_tokens_details.cached_tokens",
  "input_tokens_details.cached_tokens",
  "promptTokensDetails.cachedTokens",
  "inputTokenDetails.cacheReadTokens",
  "inputTokens.cacheRead",
];
const CACHE_WRITE = [
  "cacheWriteTokens",
  "cacheWrite",
  "cache_creation_input_tokens",
  "cacheWriteInputTokens",
  "cacheCreationInputTokens",
  "cache.write",
  "prompt_tokens_details.cache_write_tokens",
  "inputTokenDetails.cacheWriteTokens",
  "inputTokens.cacheWrite",
];

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function tokensAt(fields: Fields, path: string): number | undefined {
  const [outer = path, inner] = path.split(".");
  const value = fieldAt(fields, outer);
  return tokens(inner === undefined ? value : fieldAt(fieldsOf(value), inner));
}

function fieldAt(fields: Fields, name: string): unknown {
  try {
    return fields[name];
  } catch {
    return undefined;
  }
}

function tokens(value: unknown): number | undefined {
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isFinite(count) ? Math.max(0, count) : undefined;
}
