import { randomText } from "../../agents/opencode/random-text.ts";

/** A new message id in OpenCode's own form, which sorts by time. */
export function createMessageId(nowMs: number): string {
  counter = nowMs === lastMs ? counter + 1 : 1;
  lastMs = nowMs;
  const time = (BigInt(nowMs) * 0x1000n + BigInt(counter)) & 0xffff_ffff_ffffn;
  return `msg_${time.toString(16).padStart(12, "0")}${randomText(14)}`;
}

let lastMs = 0;

let counter = 0;
