import { createHash } from "node:crypto";

/** A file name for an id that comes from outside: the id itself when it is harmless, else its hash; different ids never share one. */
export function pathName(id: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(id) && !windowsDevice.test(id)) return id;
  // JSON tells lone surrogates apart, which UTF-8 does not; no plain id holds an @.
  return `@${createHash("sha256").update(JSON.stringify(id)).digest("hex")}`;
}

/** The id behind a file name, unless only its hash is known. */
export function idOfPathName(name: string): string | undefined {
  return name.startsWith("@") ? undefined : name;
}

const windowsDevice = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
