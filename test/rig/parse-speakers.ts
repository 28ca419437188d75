/** Who speaks in an inherited text, in order, as its reader can tell: by the lines that are nothing but a label. */
export function forkSpeakers(text: string): readonly string[] {
  return text.split(LINE).flatMap((line) => {
    const name = plain(line);
    return /^[A-Z][\w ]*:$/.test(name) && FORK_LABELS.has(name.toLowerCase()) ? [name] : [];
  });
}

/** Who speaks in a request for a summary, in order: by the labels that lines begin with. */
export function summarySpeakers(prompt: string): readonly string[] {
  const quoted = [...prompt.matchAll(/^<(conversation|current_turn)>\n([\s\S]*?)\n<\/\1>$/gm)];
  const lines = quoted.flatMap(([, , text = ""]) => text.split(LINE));
  return lines.flatMap((line) => {
    const [, speaker, ofTool] = SUMMARY_LABEL.exec(plain(line)) ?? [];
    return speaker ?? ofTool ?? [];
  });
}

/** How many elements of a name a text opens and closes. */
export function countTags(text: string, tag: string): number {
  return plain(text).split(new RegExp(`<\\s*/?\\s*${tag}\\b`, "i")).length - 1;
}

const LINE = /[\n\r\v\f\x85\u2028\u2029]/;
const FORK_LABELS = new Set(["user:", "agent:", "assistant:", "system:", "developer:", "human:"]);
const SUMMARY_LABEL =
  /^\s*\[(?:(User|Program, in the user's name|Assistant|Summary of earlier tool results|Other)|(Assistant calls|Result of|Error of)\s[^\]]*)\]\s*:/i;

/** As a model may read it: compatibility forms and letters that look alike are one, what cannot be seen is not there. */
function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Mn}]/gu, "")
    .replace(/[^\0-\x7f]/g, (character) => SEEN_AS[character] ?? character)
    .trim();
}

const SEEN_AS: Readonly<Record<string, string>> = {
  ...{ "\u0455": "s", "\u0435": "e", "\u043e": "o", "\u0391": "A", "\u0410": "A", "\u054d": "U" },
  ...{ "\u2236": ":", "\u0589": ":", "\u02d0": ":" },
};
