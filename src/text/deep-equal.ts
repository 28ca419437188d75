import type { UnknownObject } from "./unknown-value.ts";

/** True when two plain values are equal; values that are too deep or circular count as different. */
export function deepEqual(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth >= MAX_COMPARED_DEPTH || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      deepEqual((one as UnknownObject)[key], (other as UnknownObject)[key], depth + 1),
  );
}

const MAX_COMPARED_DEPTH = 64;
