import { createHash } from "node:crypto";

/** A safe and unique file name for an untrusted id: the id itself if it is harmless, else its hash. */
export function pathName(id: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(id) && !windowsDevice.test(id)) return id;
  // Hashed as JSON, which keeps lone surrogates apart, as UTF-8 does not. An id that is used as it is has no @.
  return `@${createHash("sha256").update(JSON.stringify(id)).digest("hex")}`;
}

/** The id of a file name; undefined if the name is a hash. */
export function idOfPathName(name: string): string | undefined {
  return name.startsWith("@") ? undefined : name;
}

const windowsDevice = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
