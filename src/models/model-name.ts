/**
 * Splits a model id into lower-case words, without dates. Gateways (Bedrock, Vertex, Foundry, OpenRouter, …) add
 * words and write versions with a dot, a dash or a "p"; as words they are equal.
 */
export function modelWords(id: string): readonly string[] {
  return (
    id
      .slice(0, MAX_NAME_CHARS)
      .toLowerCase()
      // Drop the region and the account of an ARN.
      .replace(/^arn:.*\//, "")
      .replace(/(\d)p(\d)/g, "$1-$2")
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/-20\d{6}(?=-|$)|-20\d\d-\d\d-\d\d(?=-|$)/g, "")
      // Some write the version first. Until 3.7 that was the official name.
      .replace(/\bclaude-((?:[4-9]|\d\d)(?:-\d{1,2})?)-(fable|haiku|mythos|opus|sonnet)\b/g, "claude-$2-$1")
      .split("-")
      .filter((word) => word !== "")
  );
}

const MAX_NAME_CHARS = 300;

/** Whether these words name that model, and not another version or size of it. */
export function isModelNamed(words: readonly string[], name: readonly string[]): boolean {
  const last = name.at(-1);
  if (last === undefined) return false;
  return words.some((_, start) => {
    if (!name.every((word, index) => words[start + index] === word)) return false;
    const next = words[start + name.length] ?? "";
    return !SIZES.has(next) && !(/\d$/.test(last) && /^\d{1,2}$/.test(next));
  });
}

/** Words for sizes and variants: with one more of them it is another model. */
const SIZES: ReadonlySet<string> = new Set("air fast flash lite mini nano pro turbo".split(" "));

/** The window size in a name, as in "claude-opus-4-6[1m]" or "gpt-4-32k". */
export function windowInName(words: readonly string[]): number | undefined {
  for (const word of words.toReversed()) {
    const [, count, unit] = /^(\d{1,4})([km])$/.exec(word) ?? [];
    if (count !== undefined) return Number(count) * (unit === "k" ? 1_000 : 1_000_000);
  }
  return undefined;
}

/** The family of a model: by its name, or by a provider that only serves its own models. */
export function familyOf(words: readonly string[], provider = ""): string | undefined {
  const name = words.join("-");
  if (OTHER_FAMILIES.test(name)) return undefined;
  const of = (text: string): string | undefined => FAMILIES.find(([, pattern]) => pattern.test(text))?.[0];
  return of(name) ?? (SERVERS.test(provider) ? undefined : of(modelWords(provider).join("-")));
}

const FAMILIES: readonly (readonly [family: string, pattern: RegExp])[] = [
  ["claude", /\b(?:claude|anthropic|opus|sonnet|haiku|fable|mythos)\b/],
  ["deepseek", /\bdeepseek/],
  ["kimi", /\b(?:kimi|moonshot|moonshotai)\b/],
  ["glm", /\b(?:glm|zai|zhipu|zhipuai|bigmodel)\b|\bz-ai\b/],
  ["grok", /\b(?:grok|xai)\b|\bx-ai\b/],
  ["gemini", /\b(?:gemini|google)\b/],
  ["gpt", /\b(?:gpt|chatgpt|codex|openai|o[134])\b|\bgpt\d/],
];

/** Names of other families, which also appear at providers of these families. */
const OTHER_FAMILIES =
  /\b(?:gpt-oss|gemma|learnlm|llama|mistral|mixtral|codestral|devstral|qwen|qwq|phi|command|nova|granite|minimax)/;
/** Providers that serve models of any family through a known interface. */
const SERVERS = /compatible|bedrock|vertex(?!.*(?:anthropic|gemini))/i;
