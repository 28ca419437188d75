/** Visits every string in a value, the names of fields too, until the visitor says true; says whether it did. Deep and circular values are safe. */
export function someString(value: unknown, visit: (text: string) => boolean): boolean {
  if (typeof value === "string") return visit(value);
  if (typeof value !== "object" || value === null) return false;
  const seen = new Set<object>([value]);
  const open: object[] = [value];
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    for (const [key, item] of Object.entries(current)) {
      if (!Array.isArray(current) && visit(key)) return true;
      if (typeof item === "string") {
        if (visit(item)) return true;
      } else if (typeof item === "object" && item !== null && !seen.has(item)) {
        seen.add(item);
        open.push(item);
      }
    }
  }
  return false;
}
