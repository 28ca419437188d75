import { InvalidArgumentError } from "commander";

/** Reads an argument that counts something. */
export function countOf(value: string): number {
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError("Give a whole number from 1 on.");
  return count;
}

/** Reads an argument that is a size, such as 200_000 or 200k. */
export function sizeOf(value: string): number {
  const [, digits = "", thousand] = /^(\d[\d_,]*)(k?)$/i.exec(value.trim()) ?? [];
  const size = Number(digits.replace(/[_,]/g, "")) * (thousand ? 1000 : 1);
  if (digits === "" || !Number.isSafeInteger(size))
    throw new InvalidArgumentError("Give a whole number, such as 200000 or 200k.");
  return size;
}
