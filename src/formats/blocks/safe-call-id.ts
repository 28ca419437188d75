import type { CallId } from "../../transcript/ids.ts";
import { hashEnds } from "./place-id.ts";

/** A call id that every API takes: itself when it has 1 to 64 letters, digits, `_` and `-`; else a name made of it, other for other ids. */
export function safeCallId(callId: CallId): CallId {
  if (SAFE.test(callId)) return callId;
  const name = callId.slice(0, NAME_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  return `${name}_${(hashEnds(callId) >>> 0).toString(36)}`;
}

const SAFE = /^[a-zA-Z0-9_-]{1,64}$/;
const NAME_CHARS = 48;
