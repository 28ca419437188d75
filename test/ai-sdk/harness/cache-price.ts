import { countRequest } from "./count-request.ts";

/** What requests cost with a provider that caches prompts. */
export interface CachePrice {
  /** Adds one request with the tokens of its answer. A request without tools is asked once, so nobody has it cached. */
  add(body: unknown, outputTokens?: number): void;
  /** In tokens at the price of a plain one. */
  total(): number;
  /** In US dollars at the prices of Claude Sonnet. */
  usd(): number;
  readTokens(): number;
  writtenTokens(): number;
}

/** A cache that knows the newest prompts, block by block, and reuses the longest beginning that is the same. */
export function createCachePrice(): CachePrice {
  const prompts: (readonly Block[])[] = [];
  let total = 0;
  let readTokens = 0;
  let writtenTokens = 0;
  return {
    add(body, outputTokens = 0) {
      const blocks = blocksOf(body);
      const tokens = tokensOf(blocks);
      total += outputTokens * OUTPUT_PRICE;
      if ((body as { tools?: unknown }).tools === undefined) {
        total += tokens;
        return;
      }
      const same = prompts.reduce((most, known) => Math.max(most, sameStart(known, blocks)), 0);
      const known = tokensOf(blocks.slice(0, same));
      const read = known >= MINIMUM_TOKENS ? known : 0;
      prompts.push(blocks);
      // Older prompts are beginnings of newer ones, or have expired.
      if (prompts.length > KEPT_PROMPTS) prompts.shift();
      readTokens += read;
      writtenTokens += tokens - read;
      total += read * READ_PRICE + (tokens - read) * WRITE_PRICE;
    },
    total: () => total,
    usd: () => (total * SONNET_INPUT_USD) / 1_000_000,
    readTokens: () => readTokens,
    writtenTokens: () => writtenTokens,
  };
}

// Against a plain token of the input.
const READ_PRICE = 0.1;
const WRITE_PRICE = 1.25;
const OUTPUT_PRICE = 5;
/** For a million tokens. */
const SONNET_INPUT_USD = 3;
const MINIMUM_TOKENS = 1_024;
const KEPT_PROMPTS = 4;

interface Block {
  readonly text: string;
  readonly tokens: number;
}

/** Tools come first, then the system prompt, then the messages: that is the order in which providers cache. */
function blocksOf(body: unknown): readonly Block[] {
  const { tools, system, systemInstruction, messages, input, contents } = body as Record<string, unknown>;
  const turns = (messages ?? input ?? contents) as readonly unknown[];
  return [tools, system ?? systemInstruction, ...turns].map((block) => ({
    text: JSON.stringify(block) ?? "",
    tokens: countRequest({ messages: block }),
  }));
}

function sameStart(one: readonly Block[], other: readonly Block[]): number {
  let same = 0;
  while (same < one.length && same < other.length && one[same]?.text === other[same]?.text) same++;
  return same;
}

function tokensOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}
