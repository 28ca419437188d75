import { findSecrets } from "./secrets/find-secrets.ts";
import { PLACEHOLDER, placeholderFor } from "./secrets/placeholder.ts";
import type { SecretSpan } from "./secrets/secret-span.ts";

/** A rule of the caller's own: what the pattern matches (its first group, when it has one) is a secret of this type. */
export interface SecretRule {
  readonly type: string;
  readonly pattern: RegExp;
}

export interface RedactOptions {
  /** Keys the short hashes, so that placeholders of two projects cannot be compared. */
  readonly key?: string;
  readonly extraRules?: readonly SecretRule[];
}

/** A redacted text and how many secrets of each type were in it. */
export interface RedactedText {
  readonly text: string;
  readonly found: readonly { readonly type: string; readonly count: number }[];
}

/** Puts a placeholder with type and short hash in the place of every secret it knows; the same reference when there is none. */
export function redactSecrets(text: string, options: RedactOptions = {}): string {
  return redactSecretsWithReport(text, options).text;
}

/** Gives what `redactSecrets` gives, and how many secrets of each type it found. */
export function redactSecretsWithReport(text: string, options: RedactOptions = {}): RedactedText {
  const { key = "", extraRules = [] } = options;
  const counts = new Map<string, number>();
  let redacted = text;
  for (const rule of extraRules) redacted = replaceSpans(redacted, findByRule(redacted, rule), key, counts);
  // What stood glued to a secret is read anew once it is gone; a second redaction must have nothing left to do.
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const spans = findSecrets(redacted);
    if (spans.length === 0) break;
    redacted = replaceSpans(redacted, spans, key, counts);
  }
  return { text: redacted, found: Array.from(counts, ([type, count]) => ({ type, count })) };
}

const MAX_PASSES = 8;

function replaceSpans(
  text: string,
  spans: readonly SecretSpan[],
  key: string,
  counts: Map<string, number>,
): string {
  if (spans.length === 0) return text;
  const pieces: string[] = [];
  let copiedUntil = 0;
  for (const { startIndex, endIndex, type } of spans) {
    pieces.push(
      text.slice(copiedUntil, startIndex),
      placeholderFor(text.slice(startIndex, endIndex), type, key),
    );
    counts.set(type, (counts.get(type) ?? 0) + 1);
    copiedUntil = endIndex;
  }
  pieces.push(text.slice(copiedUntil));
  return pieces.join("");
}

function findByRule(text: string, { type, pattern }: SecretRule): readonly SecretSpan[] {
  const safeType =
    type
      .toLowerCase()
      .replace(/[^a-z\d-]+/g, "-")
      .slice(0, 40) || "secret";
  const flags = new Set(`${pattern.flags.replace("y", "")}gd`);
  // Placeholders are passed over first, or a wide rule would redact them again.
  const search = new RegExp(`(?:${PLACEHOLDER.source})|(?:${pattern.source})`, [...flags].join(""));
  const spans: SecretSpan[] = [];
  for (const match of text.matchAll(search)) {
    const [startIndex, endIndex] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0];
    if (endIndex > startIndex && !match[0].startsWith("[REDACTED:"))
      spans.push({ startIndex, endIndex, type: safeType });
  }
  return spans;
}
