/** Which of a coding agent's callers a request comes from. */
export type Lane = "main" | "title" | "summary";

/** Tells the lanes apart by the system prompts of OpenCode's hidden agents; everything else is `main`. */
export function laneOf(rawBody: string): Lane {
  if (rawBody.includes("You are a title generator")) return "title";
  if (rawBody.includes("You are a context summarization agent")) return "summary";
  return "main";
}
