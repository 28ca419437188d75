/** An error text as the rules read it: lower case, no quotes, no addresses, single spaces. */
export function errorWords(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/https?:\/\/\S+/g, " ")
    .replace(/\\+[nrt]/g, " ")
    .replace(/[`'"‘’“”*\\]/g, "")
    .replace(/\s+/g, " ")
    .replace(/\binput (?=validation\b|should be\b)/g, "")
    .trim();
}

/** A machine code as words: `ContextWindowExceededError` and `context_window_exceeded` read alike. */
export function codeWords(code: string): string {
  return code
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .replace(/[_\-./:#]+/g, " ")
    .replace(/\s+/g, " ")
    .toLowerCase()
    .trim();
}

/** The statements of a text, so that a subject and a verb of different sentences are not joined. */
export function statements(words: string): readonly string[] {
  return words.split(/[.;!?](?:\s+|$)|[。；！？\n]|\s[-–—|]\s/).filter((statement) => statement !== "");
}
