/** Visits every string in a value, the names of fields too, until the visitor says true; says whether it did. Deep and circular values are safe. */
export function someString(value: unknown, visit: (text: string) => boolean): boolean {
  if (typeof value === "string") return visit(value);
  if (typeof value !== "object" || value === null) return false;
  const open: object[] = [value];
  let seen: Set<object> | undefined;
  const take = (item: unknown): boolean => {
    if (typeof item === "string") return visit(item);
    if (typeof item !== "object" || item === null) return false;
    seen ??= new Set([value]);
    if (seen.has(item)) return false;
    seen.add(item);
    open.push(item);
    return false;
  };
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    if (Array.isArray(current)) {
      for (const item of current) if (take(item)) return true;
    } else {
      for (const key of Object.keys(current)) {
        if (visit(key) || take((current as Readonly<Record<string, unknown>>)[key])) return true;
      }
    }
  }
  return false;
}
