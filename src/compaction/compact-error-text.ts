import { createTextCleaner } from "./summary-clean-text.ts";

/** What an error says, on one line and without secrets; whatever was thrown. */
export function errorText(error: unknown): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`;
    return CLEANER.line(text, MAX_CHARS);
  } catch {
    return "threw something that cannot be read";
  }
}

const CLEANER = createTextCleaner();
const MAX_CHARS = 300;
