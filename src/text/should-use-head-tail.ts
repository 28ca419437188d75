/** True when the end of an output matters as much as its beginning: terminal tools, and texts that speak of an error. */
export function shouldUseHeadTail(toolName: string, resultText: string): boolean {
  const name = toolName.toLowerCase();
  return FORK_HEAD_TAIL_KEYWORDS.some((keyword) => name.includes(keyword)) || speaksOfError(resultText);
}

export const FORK_HEAD_TAIL_KEYWORDS: readonly string[] = ["bash", "pty", "exec"];

export const FORK_ERROR_PATTERNS: readonly string[] = [
  "error",
  "Error",
  "ERROR",
  "failed",
  "FAILED",
  "exception",
  "traceback",
];

/** Forms that the documented patterns miss: a Python traceback, "Exception in thread", "Failed to", a panic. */
export const FORK_MORE_ERROR_PATTERNS: readonly string[] = [
  "fail",
  "FAIL",
  "stack",
  "Failed",
  "Exception",
  "Traceback",
  "panic:",
  "fatal:",
  "FATAL",
];

/** Longer texts are searched at their ends only: that is where errors stand, and all of a long output that may be kept. */
const SEARCHED_WHOLE_CHARS = 16 * 1024;
const SEARCHED_END_CHARS = 4 * 1024;

const anyErrorPattern = new RegExp([...FORK_ERROR_PATTERNS, ...FORK_MORE_ERROR_PATTERNS].join("|"));

function speaksOfError(text: string): boolean {
  if (text.length <= SEARCHED_WHOLE_CHARS) return anyErrorPattern.test(text);
  return (
    anyErrorPattern.test(text.slice(0, SEARCHED_END_CHARS)) ||
    anyErrorPattern.test(text.slice(-SEARCHED_END_CHARS))
  );
}
