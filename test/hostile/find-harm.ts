import type { Frames, Reading } from "./entry-points.ts";

/** What is wrong with a text that a model or a person is about to read; empty when nothing is. */
export function findHarm({ text, frames }: Reading): readonly string[] {
  return [
    ...findMalformed(text),
    ...(LONE_RETURN.test(text) ? ["a carriage return that hides its line"] : []),
    ...(HIDDEN.test(text) ? [`hidden character ${codeOf(HIDDEN, text)}`] : []),
    ...(frames === undefined ? [] : findBreakOuts(text, frames)),
  ];
}

/** What a provider may refuse and a terminal may obey: halves of pairs and control characters. */
export function findMalformed(text: string): readonly string[] {
  return [
    ...(text.isWellFormed() ? [] : ["half a surrogate pair"]),
    ...(CONTROL.test(text) ? [`control character ${codeOf(CONTROL, text)}`] : []),
  ];
}

/** Elements that are opened or closed too often, as a careless reader would see them. */
function findBreakOuts(text: string, { own, foreign }: Frames): readonly string[] {
  const seen = text.normalize("NFKC").replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "");
  const isBroken = (tag: string, most: number): boolean => {
    const opened = seen.match(new RegExp(`<\\s*${tag}(?!\\w)`, "gi"))?.length ?? 0;
    const closed = seen.match(new RegExp(`<\\s*[/\\\\][\\s/\\\\]*${tag}(?!\\w)`, "gi"))?.length ?? 0;
    return opened > most || closed !== opened;
  };
  return [...own.filter((tag) => isBroken(tag, 1)), ...foreign.filter((tag) => isBroken(tag, 0))].map(
    (tag) => `broke out of ${tag}`,
  );
}

const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const LONE_RETURN = /\r(?!\n)/;

// A joiner or a selector may stand behind a pictograph, where it makes one picture of two.
const HIDDEN = new RegExp(
  [
    "[\\u00ad\\u061c\\u180e\\u200b\\u200c\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e01ef}]",
    "(?<!\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\ufe0f)\\u200d",
    "(?<![\\p{Extended_Pictographic}0-9#*])[\\ufe00-\\ufe0f]",
  ].join("|"),
  "u",
);

function codeOf(pattern: RegExp, text: string): string {
  const [found = ""] = pattern.exec(text) ?? [];
  return `U+${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
