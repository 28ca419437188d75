/** True when two plain values say the same; what is too deep or circular counts as different. */
export function deepEqual(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth >= MAX_DEPTH || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) => Object.hasOwn(other, key) && deepEqual((one as Values)[key], (other as Values)[key], depth + 1),
  );
}

type Values = Readonly<Record<string, unknown>>;

const MAX_DEPTH = 64;
