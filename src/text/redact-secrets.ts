import { findSecrets } from "./secrets/find-secrets.ts";
import { PLACEHOLDER, placeholderFor } from "./secrets/placeholder.ts";
import { type SecretSpan, textOf } from "./secrets/secret-span.ts";

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
  const hide = (before: string, spans: readonly SecretSpan[]): string => {
    const pieces: string[] = [];
    let copiedUntil = 0;
    for (const span of spans) {
      pieces.push(before.slice(copiedUntil, span.startIndex));
      pieces.push(placeholderFor({ secret: textOf(before, span), type: span.type, key }));
      counts.set(span.type, (counts.get(span.type) ?? 0) + 1);
      copiedUntil = span.endIndex;
    }
    return spans.length === 0 ? before : pieces.join("") + before.slice(copiedUntil);
  };

  let redacted = text;
  for (const rule of extraRules) redacted = hide(redacted, findByRule(redacted, rule));
  // What stood glued to a secret is read anew once it is gone, so that a second redaction has nothing left to do.
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const spans = findSecrets(redacted);
    if (spans.length === 0) break;
    redacted = hide(redacted, spans);
  }
  return { text: redacted, found: Array.from(counts, ([type, count]) => ({ type, count })) };
}

const MAX_PASSES = 8;

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
