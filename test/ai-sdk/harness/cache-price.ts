/** What requests cost with a provider that caches prompts: 0.1 for a token that was read, 1.25 for one that was written. */
export interface CachePrice {
  /** Adds one request; gives its price. */
  add(body: unknown): number;
  total(): number;
  readTokens(): number;
  writtenTokens(): number;
}

/** A cache that knows every prompt so far, byte by byte, and reuses the longest beginning that is the same. */
export function createCachePrice(): CachePrice {
  const prompts: string[] = [];
  let total = 0;
  let readTokens = 0;
  let writtenTokens = 0;
  return {
    add(body) {
      const prompt = promptOf(body);
      const sameChars = prompts.reduce((most, known) => Math.max(most, sameStart(known, prompt)), 0);
      prompts.push(prompt);
      // Older prompts are beginnings of newer ones, or have expired.
      if (prompts.length > KEPT_PROMPTS) prompts.shift();
      const cachedChars = sameChars >= MINIMUM_CHARS ? sameChars : 0;
      const read = cachedChars / CHARS_PER_TOKEN;
      const written = (prompt.length - cachedChars) / CHARS_PER_TOKEN;
      const price = read * READ_PRICE + written * WRITE_PRICE;
      readTokens += read;
      writtenTokens += written;
      total += price;
      return price;
    },
    total: () => total,
    readTokens: () => Math.round(readTokens),
    writtenTokens: () => Math.round(writtenTokens),
  };
}

const READ_PRICE = 0.1;
const WRITE_PRICE = 1.25;
const CHARS_PER_TOKEN = 4;
const MINIMUM_CHARS = 1_024 * CHARS_PER_TOKEN;
const KEPT_PROMPTS = 4;

/** Tools come first, then the system prompt, then the messages: that is the order in which providers cache. */
function promptOf(body: unknown): string {
  const { tools, system, messages, input } = body as Record<string, unknown>;
  return JSON.stringify([tools, system, messages ?? input]);
}

function sameStart(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  // Whole pieces first: comparing strings is far faster than comparing characters.
  let same = 0;
  for (let size = 1 << 20; size >= 1; size >>= 2) {
    while (same + size <= most && one.slice(same, same + size) === other.slice(same, same + size))
      same += size;
  }
  return same;
}
