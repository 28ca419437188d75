/** JSON with line breaks, tabs, quotes and backslashes as they were in its strings: for reading, not for parsing. */
export function readableJson(json: string): string {
  let slash = json.indexOf("\\");
  if (slash === -1) return json;
  let text = "";
  let from = 0;
  while (slash !== -1) {
    const meaning = MEANINGS[json.charAt(slash + 1)];
    if (meaning !== undefined) {
      text += json.slice(from, slash) + meaning;
      from = slash + 2;
    }
    slash = json.indexOf("\\", slash + 2);
  }
  return text + json.slice(from);
}

const MEANINGS: Readonly<Record<string, string>> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
