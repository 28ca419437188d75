import { SUMMARY_TAGS } from "../../src/compaction/summary-clean-text.ts";

/** What is wrong with a text that a model or a person is about to read; empty when nothing is. */
export function findHarm(text: string): readonly string[] {
  return [...findMalformed(text), ...(HIDDEN.test(text) ? [`hidden character ${escapeOf(HIDDEN, text)}`] : [])];
}

/** What a provider or a terminal may stumble over: halves of pairs and control characters. */
export function findMalformed(text: string): readonly string[] {
  return [
    ...(text.isWellFormed() ? [] : ["half a surrogate pair"]),
    ...(CONTROL.test(text) ? [`control character ${escapeOf(CONTROL, text)}`] : []),
  ];
}

/** How often each of our frames is opened or closed, as a careless reader would see it. */
export function countFrames(texts: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const text of texts) {
    const seen = text.normalize("NFKC").replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
    for (const tag of SUMMARY_TAGS) {
      const found = seen.match(new RegExp(`<[\\s/\\\\]*${tag}(?!\\w)`, "gi"))?.length ?? 0;
      counts[tag] = (counts[tag] ?? 0) + found;
    }
  }
  return counts;
}

// Tab and line feed are text; a carriage return only before a line feed.
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/;

// A joiner or a selector may stand behind a pictograph, where it makes one picture of two.
const HIDDEN =
  /[\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e01ef}]|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d|(?<![\p{Extended_Pictographic}0-9#*])[\ufe00-\ufe0f]/u;

function escapeOf(pattern: RegExp, text: string): string {
  const [found = ""] = pattern.exec(text) ?? [];
  return `U+${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
