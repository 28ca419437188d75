import { type ModelPrice, priceOf, writePrice } from "../models/model-price.ts";
import type { ModelRow } from "../models/model-row.ts";
import type { MessageId, ModelRef, Usage } from "../transcript/message.ts";

/** One request of a model, as far as the file tells. */
export interface RecordedRequest {
  readonly id: string;
  /** The message that answered it. */
  readonly messageId?: MessageId;
  readonly atMs?: number;
  readonly model?: ModelRef;
  readonly usage: Usage;
  /** What was written to be kept for an hour, of all that was written to the cache. */
  readonly hourWriteTokens: number;
  /** What is charged as output: where reasoning is counted beside it, both. */
  readonly billedOutputTokens: number;
  /** What the agent itself says that it cost. */
  readonly costUSD?: number;
  /** Requests of one thread go on from each other: the conversation, or one of its sub-agents. */
  readonly thread: string;
  /** The request whose conversation it goes on with; the one before it in its thread when unset. */
  readonly continues?: string;
  /** What the file says was changed since that one. */
  readonly since: readonly RecordedChange[];
  readonly prompt?: RecordedPrompt;
}

/** Takes the lines of a session's file in order, keeps none of them, and gives the requests that they record. */
export interface RequestRecorder {
  take(line: unknown): void;
  requests(): readonly RecordedRequest[];
}

/** A change that makes the next prompt begin differently. */
export interface RecordedChange {
  readonly type: "compaction" | "message" | "system";
  readonly detail: string;
}

/** What was sent, where the agent records that. */
export interface RecordedPrompt {
  readonly tools: readonly unknown[];
  readonly system: readonly unknown[];
  /** A hash of each message. */
  readonly messages: readonly string[];
  /** Thinking, effort and the like: another value of one is another cache. */
  readonly settings: string;
  /** What a hash stands for; undefined for answers, which are recorded only once. */
  readonly textOf: (hash: string) => string | undefined;
}

/** The whole prompt of a request. */
export function promptTokensOf({ inputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number {
  return inputTokens + cacheReadTokens + cacheWriteTokens;
}

/** Which request each goes on from, in a file whose lines name their parents. */
export function createLineage(): Lineage {
  const nodes = new Map<string, LineageNode>();
  return {
    add: (id, node) => void nodes.set(id, node),
    before(id) {
      const start = nodes.get(id);
      const changes: RecordedChange[] = [];
      const seen = new Set<string>([id]);
      let at = start?.parent;
      while (at !== undefined && !seen.has(at)) {
        seen.add(at);
        const node = nodes.get(at);
        // What is not in the file may have been anything; half of the compactions of Claude Code name such a line.
        if (node === undefined) break;
        if (node.change !== undefined) changes.push(node.change);
        if (node.requestId !== undefined && node.requestId !== start?.requestId)
          return { requestId: node.requestId, changes };
        at = node.parent;
      }
      return { requestId: undefined, changes };
    },
    rootOf(id) {
      const seen = new Set<string>();
      let at = id;
      while (!seen.has(at)) {
        seen.add(at);
        const parent = nodes.get(at)?.parent;
        if (parent === undefined) return at;
        at = parent;
      }
      return undefined;
    },
  };
}

interface Lineage {
  add(id: string, node: LineageNode): void;
  /** The request that a line goes on from, unset where the file does not say; and what was changed since. */
  before(id: string): {
    readonly requestId: string | undefined;
    readonly changes: readonly RecordedChange[];
  };
  /** The first line that a line goes back to. */
  rootOf(id: string): string | undefined;
}

interface LineageNode {
  readonly parent: string | undefined;
  readonly requestId: string | undefined;
  readonly change: RecordedChange | undefined;
}

/** What a request cost by kind of token, in dollars. */
export interface RequestPrice {
  readonly inputUSD: number;
  readonly cacheReadUSD: number;
  readonly cacheWriteUSD: number;
  readonly outputUSD: number;
}

/** Prices one request. */
export function priceRequest(
  { usage, hourWriteTokens, billedOutputTokens }: PricedRequest,
  price: ModelPrice,
): RequestPrice {
  const { input, output } = factorsOf(usage, price);
  const writtenTokens = usage.cacheWriteTokens - hourWriteTokens;
  const writes = writtenTokens * writePrice(price) + hourWriteTokens * writePrice(price, "1h");
  return {
    inputUSD: (usage.inputTokens * price.input * input) / MILLION,
    cacheReadUSD: (usage.cacheReadTokens * price.cacheRead * input) / MILLION,
    cacheWriteUSD: (writes * input) / MILLION,
    outputUSD: (billedOutputTokens * price.output * output) / MILLION,
  };
}

/** What is priced of a request. */
interface PricedRequest {
  readonly usage: Usage;
  readonly hourWriteTokens: number;
  readonly billedOutputTokens: number;
}

/** What tokens cost more that were written, or sent as they are, instead of being read from the cache. */
export function priceCacheMiss(request: PricedRequest, missedTokens: number, price: ModelPrice): number {
  const { usage } = request;
  const { inputUSD, cacheWriteUSD } = priceRequest(request, price);
  const paidTokens = usage.inputTokens + usage.cacheWriteTokens;
  const paidUSD = paidTokens === 0 ? 0 : ((inputUSD + cacheWriteUSD) * missedTokens) / paidTokens;
  return paidUSD - (missedTokens * price.cacheRead * factorsOf(usage, price).input) / MILLION;
}

const MILLION = 1_000_000;

function factorsOf(
  usage: Usage,
  { longPrompts }: ModelPrice,
): { readonly input: number; readonly output: number } {
  return longPrompts !== undefined && promptTokensOf(usage) >= longPrompts.fromTokens
    ? { input: longPrompts.inputFactor, output: longPrompts.outputFactor }
    : { input: 1, output: 1 };
}

/** A request with its price. */
export interface ExplainedRequest
  extends Omit<RecordedRequest, "prompt" | "since" | "continues" | "costUSD"> {
  readonly index: number;
  /** Unset where no price of the model is known. */
  readonly costUSD?: number;
  readonly byKind?: RequestPrice;
  /** Who says what it cost: the agent itself, or the table of prices. */
  readonly priced: "agent" | "table" | "unknown";
}

/** Sums over all requests. */
export interface CostTotals extends Usage {
  readonly requests: number;
  /** With reasoning, also where that is counted beside the output. */
  readonly billedOutputTokens: number;
  readonly costUSD: number;
  /** By the table, for the requests whose model it knows. */
  readonly byKind: RequestPrice;
  /** Requests without a price, which the sum leaves out. */
  readonly unpriced: number;
}

/** Sums requests up. */
export function totalsOf(requests: readonly ExplainedRequest[]): CostTotals {
  const usage = {
    inputTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
  const byKind = { inputUSD: 0, cacheReadUSD: 0, cacheWriteUSD: 0, outputUSD: 0 };
  let [billedOutputTokens, costUSD, unpriced] = [0, 0, 0];
  for (const request of requests) {
    addUp(usage, request.usage);
    if (request.byKind !== undefined) addUp(byKind, request.byKind);
    billedOutputTokens += request.billedOutputTokens;
    costUSD += request.costUSD ?? 0;
    if (request.priced === "unknown") unpriced++;
  }
  return { requests: requests.length, ...usage, billedOutputTokens, costUSD, byKind, unpriced };
}

function addUp<Field extends string>(
  sums: Record<Field, number>,
  counts: Readonly<Record<NoInfer<Field>, number>>,
): void {
  for (const field in sums) sums[field] += counts[field];
}

/** What a request cost in all. */
export const totalUSD = ({ inputUSD, cacheReadUSD, cacheWriteUSD, outputUSD }: RequestPrice): number =>
  inputUSD + cacheReadUSD + cacheWriteUSD + outputUSD;

/** Looks up the price of the model of each request, on the day of the request; a session has thousands. */
export function createPriceFinder(
  rows: readonly ModelRow[] | undefined,
): (request: Pick<RecordedRequest, "model" | "atMs">) => ModelPrice | undefined {
  const found = new Map<string, ModelPrice | undefined>();
  return ({ model, atMs }) => {
    if (model === undefined) return undefined;
    const on = dayOf(atMs);
    const key = `${model.provider}/${model.id} ${on}`;
    if (!found.has(key)) found.set(key, priceOf(model, { rows, on }));
    return found.get(key);
  };
}

function dayOf(atMs: number | undefined): string | undefined {
  const date = new Date(atMs ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10);
}
