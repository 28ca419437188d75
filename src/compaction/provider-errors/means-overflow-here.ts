import type { ProviderErrorEvidence } from "./read-provider-error.ts";

/** True for what says too little to mean an overflow from anyone but the provider that sent it. */
export function meansOverflowHere(
  { texts, codes, statuses }: ProviderErrorEvidence,
  provider: string,
): boolean {
  const says = (wording: RegExp): boolean => texts.some((text) => wording.test(text));
  if (/cerebras/i.test(provider)) {
    const hasNoBody = texts.length === 0 || says(/\(no body\)/i);
    return hasNoBody && (statuses.includes(400) || statuses.includes(413));
  }
  if (/\btgi\b|hugging ?face|text-generation/i.test(provider)) return says(/\blength limit exceeded\b/i);
  return /zhipu|\bz\.?ai\b|bigmodel|glm/i.test(provider) && codes.includes("1261");
}
