import type {
  ProviderCompactor,
  SummarizeOptions,
  Summarizer,
  SummaryRequest,
} from "../compaction/ports/summarizer.ts";
import { estimateTokens, type TokenEstimator } from "../text/tokens/estimate-tokens.ts";
import type { ModelRef, Usage } from "../transcript/message.ts";

/** What one call of the summarizer used. */
export interface SummaryUsage {
  /** Tokens by kind. */
  readonly usage: Usage;
  /** Provider: it counted. Estimate: the summarizer did not say. */
  readonly counted: "provider" | "estimate";
  /** The model that was asked for; unset where the driver chooses. */
  readonly model?: ModelRef;
  /** Where `prices` are known. */
  readonly costUSD?: number;
}

/** USD for a million tokens of the model that writes summaries. */
export interface SummaryPrices {
  /** For what it reads. */
  readonly input: number;
  /** For what it writes. */
  readonly output: number;
  /** For what it reads from the provider's cache; as input when unset. */
  readonly cacheRead?: number;
  /** For what is written to that cache; as input when unset. */
  readonly cacheWrite?: number;
}

/** A summarizer that reports what each call used, also of one whose answer was of no use. */
function meterSummarizer(
  summarizer: Summarizer,
  { report, estimator, summaryPrices: prices }: MeterOptions,
): Summarizer {
  async function summarize(request: SummaryRequest, options: SummarizeOptions): Promise<string> {
    let counted: Usage | undefined;
    const tell = (usage: Usage, by: SummaryUsage["counted"]): void =>
      report({
        usage,
        counted: by,
        ...(request.model && { model: request.model }),
        ...(prices && { costUSD: costOf(usage, prices) }),
      });
    try {
      const text = await summarizer.summarize(request, {
        ...options,
        onUsage: (usage) => {
          counted = usage;
        },
      });
      if (counted === undefined) tell(estimatedUsage(request, text, estimator), "estimate");
      return text;
    } finally {
      if (counted !== undefined) tell(counted, "provider");
    }
  }
  return {
    summarize,
    ...(summarizer.byProvider && { byProvider: meterProvider(summarizer.byProvider, report) }),
  };
}

/** What the provider itself used is told without costs: the prices are those of the model that writes summaries. */
function meterProvider(provider: ProviderCompactor, report: MeterOptions["report"]): ProviderCompactor {
  return {
    keptFrom: provider.keptFrom,
    compact: (request, options) =>
      provider.compact(request, {
        ...options,
        onUsage: (usage) => report({ usage, counted: "provider" }),
      }),
  };
}

interface MeterOptions {
  readonly report: (used: SummaryUsage) => void;
  readonly estimator: TokenEstimator;
  readonly summaryPrices?: SummaryPrices;
}

/** The ports with a summarizer that is metered, and what it has used for the ledger. */
export function createSpending<Ports extends { readonly summarizer?: Summarizer }>(
  ports: Ports,
  options: Omit<MeterOptions, "report">,
  emit: (used: SummaryUsage) => void,
): { readonly ports: Ports; sinceLastAsked(): { readonly summaryUsage?: Usage } } {
  let spent: Usage | undefined;
  const report = (used: SummaryUsage): void => {
    spent = addUsage(spent, used.usage);
    emit(used);
  };
  const summarizer = ports.summarizer && meterSummarizer(ports.summarizer, { ...options, report });
  return {
    ports: { ...ports, ...(summarizer && { summarizer }) },
    sinceLastAsked() {
      const summaryUsage = spent;
      spent = undefined;
      return summaryUsage === undefined ? {} : { summaryUsage };
    },
  };
}

/** Both together. */
export function addUsage(one: Usage | undefined, other: Usage): Usage {
  if (one === undefined) return other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  };
}

function estimatedUsage({ system, prompt }: SummaryRequest, text: unknown, estimator: TokenEstimator): Usage {
  const tokensOf = (given: string): number => estimateTokens(given, { estimator, rounding: "ceil" });
  return {
    inputTokens: tokensOf(system + prompt),
    outputTokens: typeof text === "string" ? tokensOf(text) : 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
}

function costOf(
  usage: Usage,
  { input, output, cacheRead = input, cacheWrite = input }: SummaryPrices,
): number {
  // Output counts the reasoning in it.
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const micros =
    inputTokens * input + outputTokens * output + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite;
  return micros / 1_000_000;
}
