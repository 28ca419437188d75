import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

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

/** The default folder for state: `carryover` in $XDG_STATE_HOME, else in ~/.local/state. */
export function defaultStateFolder(env: StateFolderEnvironment): string {
  const stateHome = env.XDG_STATE_HOME;
  // The XDG specification says that a relative path must be ignored.
  if (stateHome && isAbsolute(stateHome)) return join(stateHome, "carryover");
  return join(env.HOME || homedir(), ".local", "state", "carryover");
}

/** The environment variables that name the folder, such as `process.env`. */
export interface StateFolderEnvironment {
  readonly XDG_STATE_HOME?: string | undefined;
  readonly HOME?: string | undefined;
}
