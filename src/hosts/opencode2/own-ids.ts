import { createHash, randomBytes } from "node:crypto";

/** A new id in the host's own form, which sorts by time, marked as ours; for the same key and time always the same. */
export function ownMessageId({ atMs, key }: { readonly atMs: number; readonly key?: string }): string {
  const rest =
    key === undefined
      ? randomBytes(9).toString("base64url")
      : createHash("sha256").update(key).digest("base64url").slice(0, 12);
  return `${timePart(atMs)}${OWN_MARK}${rest}`;
}

/** The id of the message that holds what a text fork inherits. */
export function inheritedMessageId(forkId: string, atMs: number): string {
  return `${timePart(atMs)}${OWN_MARK}inherited_${forkId}`;
}

/** The fork whose inherited text a message holds. */
export function inheritedForkId(messageId: string): string | undefined {
  return INHERITED_ID.exec(messageId)?.[1];
}

function timePart(atMs: number): string {
  const time = (BigInt(Math.floor(atMs)) * 0x1000n) & 0xffff_ffff_ffffn;
  return `msg_${time.toString(16).padStart(12, "0")}`;
}

/** True for a message that the plugin has sent. */
export function isOwnId(messageId: string): boolean {
  return messageId.includes(OWN_MARK);
}

const OWN_MARK = "_carryover_";
const INHERITED_ID = new RegExp(`${OWN_MARK}inherited_(.+)$`);
