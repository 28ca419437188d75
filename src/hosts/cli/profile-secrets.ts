import { mapStrings } from "../../text/map-strings.ts";
import { normalizeText } from "../../text/normalize-text.ts";
import { redactSecretsWithReport } from "../../text/redact-secrets.ts";
import type { Transcript } from "../../transcript/message.ts";
import { outcomeText, type Part } from "../../transcript/part.ts";

/** How many secrets of a kind there are. */
export interface SecretCount {
  readonly type: string;
  readonly count: number;
}

/** Counts secrets by kind, in everything that was said, asked and answered; the most frequent first. */
export function countSecrets(transcript: Transcript): readonly SecretCount[] {
  const counts = new Map<string, number>();
  const look = (text: string): string => {
    // Escape sequences can stand inside a key.
    for (const { type, count } of redactSecretsWithReport(normalizeText(text)).found)
      counts.set(type, (counts.get(type) ?? 0) + count);
    return text;
  };
  for (const { parts } of transcript) for (const part of parts) lookAt(part, look);
  return Array.from(counts, ([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
}

function lookAt(part: Part, look: (text: string) => string): void {
  if (part.type === "text" || part.type === "reasoning") look(part.text);
  if (part.type !== "tool") return;
  mapStrings(part.input, look);
  look(outcomeText(part.outcome));
}
