import { randomBytes } from "node:crypto";

/** A new message id in the host's own form, which sorts by time: with it we know the name of a message before the host stores it. */
export function createMessageId(nowMs: number): string {
  counter = nowMs === lastMs ? counter + 1 : 1;
  lastMs = nowMs;
  const time = (BigInt(nowMs) * 0x1000n + BigInt(counter)) & 0xffff_ffff_ffffn;
  return `msg_${time.toString(16).padStart(12, "0")}${randomText(14)}`;
}

let lastMs = 0;
let counter = 0;

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
