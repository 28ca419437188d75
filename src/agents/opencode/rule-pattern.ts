/** Whether a text fits a pattern, as OpenCode decides it. */
export function matches(text: string, pattern: string): boolean {
  const source = pattern
    .replaceAll("\\", "/")
    .replace(/[.+^${}()|[\]]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")
    .replace(/ \.\*$/, "( .*)?");
  return new RegExp(`^${source}$`, "s").test(text.replaceAll("\\", "/"));
}
