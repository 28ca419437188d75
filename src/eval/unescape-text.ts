/**
 * The text with `\n`, `\t`, `\"` and `\\` read as what they stand for. Histories and what policies keep of them
 * both pass through here, so that a line inside the JSON of a tool input counts as the line that it is.
 */
export function unescapeText(text: string): string {
  let slash = text.indexOf("\\");
  if (slash === -1) return text;
  let plain = "";
  let from = 0;
  while (slash !== -1) {
    const meaning = MEANINGS[text.charAt(slash + 1)];
    if (meaning !== undefined) {
      plain += text.slice(from, slash) + meaning;
      from = slash + 2;
    }
    slash = text.indexOf("\\", meaning === undefined ? slash + 1 : from);
  }
  return plain + text.slice(from);
}

const MEANINGS: Readonly<Record<string, string>> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
