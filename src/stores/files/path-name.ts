import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

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

/** Where everything of ours is kept: `carryover` in $XDG_STATE_HOME, else in ~/.local/state. */
export function defaultStateFolder(env: StateFolderEnvironment): string {
  const stateHome = env.XDG_STATE_HOME;
  // The XDG rules say that a relative path is to be ignored.
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, "carryover");
  return join(env.HOME || homedir(), ".local", "state", "carryover");
}

export interface StateFolderEnvironment {
  readonly XDG_STATE_HOME?: string | undefined;
  readonly HOME?: string | undefined;
}
