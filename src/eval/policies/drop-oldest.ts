/** The newest messages that fit together; the end of the newest when not even that one fits. */
export function dropOldest(messages: readonly string[], budgetChars: number): string {
  let totalChars = messages.reduce((sum, message) => sum + message.length, 0);
  let first = 0;
  while (totalChars > budgetChars && first < messages.length - 1)
    totalChars -= messages[first++]?.length ?? 0;
  return lastChars(messages.slice(first).join(""), budgetChars);
}

/** The last characters of a text. */
export function lastChars(text: string, maxChars: number): string {
  return text.length > maxChars ? text.slice(text.length - maxChars) : text;
}
