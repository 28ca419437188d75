import {
  check,
  listOf,
  numberFrom,
  objectOf,
  required,
  rule,
  type Shape,
  text,
  throwProblems,
} from "../text/check.ts";
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

/** What a model costs in US dollars for a million tokens, when that was read, and where. */
export interface ModelPrice {
  /** A regular expression for the model's name, in small letters; the first row that matches counts. */
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** Read from the cache. */
  readonly cacheRead: number;
  /** Written to the cache; as input where writing costs nothing more. */
  readonly cacheWrite: number;
  /** Written to be kept for an hour; as `cacheWrite` when unset. */
  readonly cacheWriteHour?: number;
  /** Longer prompts cost more: from so many tokens on, all of the request by these factors. */
  readonly long?: { readonly fromTokens: number; readonly input: number; readonly output: number };
  /** The day on which it was read. */
  readonly readOn: string;
  readonly source: string;
}

const CLAUDE = "platform.claude.com, pricing and model pages";
const MODELS_DEV = "models.dev, by its repository";

/** The list prices of direct access, without discounts, other speeds and taxes. A model that is not here has no price. */
export const MODEL_PRICES: readonly ModelPrice[] = [
  claude("(?:fable|mythos)-5[.-]1", { input: 10, output: 50, cacheRead: 0.25 }),
  claude("(?:fable|mythos)-5", { input: 10, output: 50 }),
  claude("opus-5[.-]5", { input: 4, output: 20, cacheRead: 0.2 }),
  claude("opus-(?:5|4[.-][5-8])", { input: 5, output: 25 }),
  claude("opus-4(?:[.-][01])?", { input: 15, output: 75 }),
  {
    ...claude("sonnet-5[.-]5", { input: 2, output: 10, cacheRead: 0.1 }),
    source: `${CLAUDE}; the price of reading the cache, lower since 2026-10-07, second-hand`,
  },
  claude("sonnet-5", { input: 2, output: 10 }),
  claude("sonnet-4(?:[.-][0156])?", { input: 3, output: 15 }),
  {
    ...claude("haiku-5[.-]5", { input: 0.1, output: 0.5 }),
    long: { fromTokens: 100_001, input: 5, output: 5 },
    source: `${CLAUDE}; prompts of more than 100,000 tokens second-hand`,
  },
  claude("haiku-4[.-]5", { input: 1, output: 5 }),
  {
    ...openai("gpt-5[.]6-sol", { input: 5, output: 30, isLongDearer: true }),
    cacheWrite: 6.25,
    readOn: "2026-11-16",
    source: "developers.openai.com, second-hand (August 2026); writing by docs/decisions/0007",
  },
  openai("gpt-5[.]5", { input: 5, output: 30, isLongDearer: true }),
  openai("gpt-5[.]4-mini", { input: 0.75, output: 4.5 }),
  openai("gpt-5[.]4", { input: 2.5, output: 15, isLongDearer: true }),
  openai("gpt-5[.](?:2|2-codex|3-codex|3-codex-spark)", { input: 1.75, output: 14 }),
  openai("gpt-5(?:[.]1)?(?:-codex)?-mini", { input: 0.25, output: 2 }),
  openai("gpt-5(?:[.]1)?(?:-codex|-codex-max)?", { input: 1.25, output: 10 }),
  {
    ...openai("gemini-2[.]5-pro", { input: 1.25, output: 10 }),
    long: { fromTokens: 200_001, input: 2, output: 1.5 },
  },
  openai("gemini-2[.]5-flash", { input: 0.3, output: 2.5 }),
];

interface Listed {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
}

/** Writing costs a quarter more than input, or twice as much for an hour; reading a tenth, unless the list says otherwise. */
function claude(name: string, { input, output, cacheRead = input / 10 }: Listed): ModelPrice {
  return {
    model: `claude-${name}(?:-\\d{8})?$`,
    input,
    output,
    cacheRead,
    cacheWrite: input * 1.25,
    cacheWriteHour: input * 2,
    readOn: "2026-11-16",
    source: CLAUDE,
  };
}

/** Reading costs a tenth, writing nothing more. */
function openai(
  name: string,
  { input, output, isLongDearer = false }: Listed & { readonly isLongDearer?: boolean },
): ModelPrice {
  return {
    model: `(?:^|/)${name}(?:-\\d{4}-\\d\\d-\\d\\d)?$`,
    input,
    output,
    cacheRead: input / 10,
    cacheWrite: input,
    ...(isLongDearer && { long: { fromTokens: 272_001, input: 2, output: 1.5 } }),
    readOn: "2026-07-02",
    source: MODELS_DEV,
  };
}

/** The price of a model by its name; undefined where the table has none. */
export function priceOf(
  model: ModelRef | undefined,
  prices: readonly ModelPrice[] = MODEL_PRICES,
): ModelPrice | undefined {
  const name = model?.id.toLowerCase();
  return name === undefined ? undefined : prices.find((each) => patternOf(each).test(name));
}

/** A session has thousands of requests, and each asks. */
const patterns = new WeakMap<ModelPrice, RegExp>();

function patternOf(price: ModelPrice): RegExp {
  const known = patterns.get(price) ?? new RegExp(price.model);
  patterns.set(price, known);
  return known;
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
  const { cacheWriteHour = price.cacheWrite } = price;
  return {
    inputUSD: (usage.inputTokens * price.input * input) / MILLION,
    cacheReadUSD: (usage.cacheReadTokens * price.cacheRead * input) / MILLION,
    cacheWriteUSD: ((writtenTokens * price.cacheWrite + hourWriteTokens * cacheWriteHour) * input) / MILLION,
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
export function priceRewriting(request: PricedRequest, rewrittenTokens: number, price: ModelPrice): number {
  const { usage } = request;
  const { inputUSD, cacheWriteUSD } = priceRequest(request, price);
  const paidTokens = usage.inputTokens + usage.cacheWriteTokens;
  const paidUSD = paidTokens === 0 ? 0 : ((inputUSD + cacheWriteUSD) * rewrittenTokens) / paidTokens;
  return paidUSD - (rewrittenTokens * price.cacheRead * factorsOf(usage, price).input) / MILLION;
}

const MILLION = 1_000_000;

function factorsOf(usage: Usage, { long }: ModelPrice): { readonly input: number; readonly output: number } {
  return long !== undefined && promptTokensOf(usage) >= long.fromTokens ? long : { input: 1, output: 1 };
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

/** Prices that a user gives, as the JSON of a file: a list of rows like those of the table; throws what is wrong with them. */
export function readPrices(value: unknown): readonly ModelPrice[] {
  throwProblems(check({ prices: required(listOf(objectOf(PRICE_SHAPE))) }, { prices: value }));
  return value as readonly ModelPrice[];
}

const PRICE_SHAPE: Shape<ModelPrice> = {
  model: required(rule("a regular expression for the model's name", isPattern)),
  input: required(numberFrom(0)),
  output: required(numberFrom(0)),
  cacheRead: required(numberFrom(0)),
  cacheWrite: required(numberFrom(0)),
  cacheWriteHour: numberFrom(0),
  long: objectOf({
    fromTokens: required(numberFrom(1)),
    input: required(numberFrom(0)),
    output: required(numberFrom(0)),
  }),
  readOn: required(text),
  source: required(text),
};

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value) !== undefined;
  } catch {
    return false;
  }
}

/** The price of a model, which is looked up once. */
export function createPriceFinder(prices: readonly ModelPrice[] | undefined): typeof priceOf {
  const found = new Map<string, ModelPrice | undefined>();
  return (model) => {
    const key = model === undefined ? "" : `${model.provider}/${model.id}`;
    if (!found.has(key)) found.set(key, priceOf(model, prices));
    return found.get(key);
  };
}
